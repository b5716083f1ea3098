"""Tables of ranked reactants: top-k beside the paper's, with duplicates merged, by class, tests."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gmpool.record import Row
from gmpool.report.comparison import Cell
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.provenance import facts, provenance_note
from gmpool.report.statistics import best_or_comparable
from gmpool.report.summary import summarise
from gmpool.tasks.retrosynthesis.by_class import by_class_grids, class_scores
from gmpool.tasks.retrosynthesis.paired import paired_grid
from gmpool.tasks.retrosynthesis.recorded import (
    FREQUENCY,
    Line,
    lines_by_set,
    numbers,
    require_runs,
    spread,
)
from gmpool.tasks.retrosynthesis.top_k import DECODINGS, MERGED, PUBLISHED, K

_BEST = (
    "bold: the best of a column and those not significantly worse (Welch's t-test over seeds, "
    "two-sided, p > 0.05); with one seed the best alone, which is no test"
)
_TITLES = {PUBLISHED: "top-k", MERGED: "top-k, duplicates merged"}


def summary(rows: Sequence[Row]) -> list[Grid]:
    """The tables of a store: a line for each method with settings of its own."""
    lines = summarise(row for row in rows if row.task == "retrosynthesis")
    most: dict[str, int] = defaultdict(int)
    for line in lines:
        most[line.dataset] = max(most[line.dataset], len({row.seed for row in line.rows}))
    cells = [
        Cell(s.label, s.method, s.dataset, 1 if s.method == FREQUENCY else most[s.dataset], s.rows,
             changed=bool(s.rows[0].model.get("pool")))
        for s in lines
    ]  # fmt: skip
    return grids(cells, "Ranked reactants")


def grids(cells: Sequence[Cell], title: str) -> list[Grid]:
    """For each set two grids of top-k, of which the first has the numbers of both, two by class
    where classes are known, and one of tests where there are two lines to test."""
    found = lines_by_set(cells)
    require_runs(found)
    made = []
    for dataset, lines in found.items():
        if any(line.runs for line in lines):
            names = [title, dataset] if len(found) > 1 else [title or dataset]
            made += _grids(dataset, lines, ", ".join(filter(None, names)))
    return made


def _grids(dataset: str, lines: Sequence[Line], title: str) -> list[Grid]:
    rows = [run.row for line in lines for run in line.runs]
    runs = [*_runs_notes(lines), *filter(None, [provenance_note(rows)])]
    best = [_BEST] if sum(bool(line.runs) for line in lines) > 1 else []
    notes = {PUBLISHED: _published_notes(lines), MERGED: _merged_notes(lines)}
    shown = [
        Grid(
            title=f"{title}: {_TITLES[decoding]}",
            columns=[*_heads(lines), *(_column(lines, decoding, k) for k in K)],
            notes=[*notes[decoding], *best, *_common_notes(lines), *runs],
            records=[_record(dataset, line) for line in lines] if decoding == PUBLISHED else [],
            whole=[_whole(dataset, line) for line in lines] if decoding == PUBLISHED else [],
            facts=facts(rows),
        )
        for decoding in DECODINGS
    ]
    classes = by_class_grids(dataset, lines, title=f"{title}: by class", notes=runs)
    tests = paired_grid(dataset, lines, title=f"{title}: paired tests", notes=runs)
    return [*shown, *classes, *([tests] if tests else [])]


def _heads(lines: Sequence[Line]) -> list[Column]:
    counts = [(len(line.runs), line.asked) for line in lines]
    seeds = [Square(f"{n} of {asked}" if n < asked else str(n)) for n, asked in counts]
    names = [Square(line.label) for line in lines]
    return [Column("method", names, left=True), Column("seeds", seeds)]


def _column(lines: Sequence[Line], decoding: str, k: int) -> Column:
    """A line that stands alone is not the best."""
    values = {str(place): line.tops(decoding, k) for place, line in enumerate(lines)}
    samples = {place: known for place, known in values.items() if known}
    verdicts = best_or_comparable(samples, higher=True) if len(samples) > 1 else {}
    squares = [
        Square(
            line.text(line.tops(decoding, k)),
            _beside(line, k) if decoding == PUBLISHED else "",
            best=place in verdicts and verdicts[place].comparable,
        )
        for place, line in zip(values, lines, strict=True)
    ]
    return Column(f"top-{k} %", squares)


def _beside(line: Line, k: int) -> str:
    """The paper's number, and how much ours is more."""
    if k not in line.paper:
        return ""
    paper, (mean, _) = line.paper[k], spread(line.tops(PUBLISHED, k))
    if mean is None:
        return f"{paper:.2f}"
    return f"{paper:.2f}, {round(mean - paper, 2) + 0.0:+.2f}"  # + 0.0: no -0.00


def _published_notes(lines: Sequence[Line]) -> list[str]:
    said = [
        "mean ± deviation over seeds, in percent of the test reactions: the true reactants, with "
        "their stereochemistry, are among the first k",
        "as the published code counts, an outcome of several templates is there several times, "
        "each in a place of its own",
    ]
    if any(line.paper for line in lines):
        said.append(
            "beside or below ours: the paper's number, of which it gives no deviation, and ours "
            "less the paper's; its GLN is mean here, its GMT is GMPool_1 (gmpool)"
        )
    if note := _error_note(lines):
        said.append(note)
    return said


def _merged_notes(lines: Sequence[Line]) -> list[str]:
    paper = "; the paper's numbers are not of this kind" if any(x.paper for x in lines) else ""
    return [
        "mean ± deviation over seeds, in percent of the test reactions",
        f"each outcome counts once, where it first comes: what a chemist is shown{paper}",
    ]


def _common_notes(lines: Sequence[Line]) -> list[str]:
    said = [
        "ties: scores are rounded to 0.0001; of equal ones the template that was seen more often "
        "in training comes first",
    ]
    trained = [run.row for line in lines for run in line.runs if line.method != FREQUENCY]
    if trained and all(row.train.get("select_by", "metric") == "metric" for row in trained):
        said.append("the epoch was chosen by top-1 of the validation part")
    if any(line.method == FREQUENCY and line.runs for line in lines):
        said.append(
            "frequency learns nothing: templates in the order of how often they were seen in "
            "training, the same with every seed; it is the floor"
        )
    return said


def _error_note(lines: Sequence[Line]) -> str | None:
    """What the test part alone leaves open."""
    sizes = {run.reactions for line in lines for run in line.runs} - {None}
    best = max((sum(x) / len(x) for line in lines if (x := line.tops(PUBLISHED, 1))), default=None)
    if len(sizes) != 1 or best is None:
        return None
    (count,) = sizes
    assert count is not None
    error = math.sqrt(best * (100 - best) / count)
    return (
        f"{count:,} test reactions: drawn anew they would move a top-1 of {best:.0f} % by a "
        f"standard error of {error:.1f}, which a deviation over seeds does not cover"
    )


def _runs_notes(lines: Sequence[Line]) -> list[str]:
    counted = sum(len(line.runs) for line in lines)
    said = [f"{counted:,} {'run' if counted == 1 else 'runs'} in all"]
    if untested := sum(line.untested for line in lines):
        said.append(f"{untested:,} more had no test part")
    if left_out := sum(line.left_out for line in lines):
        said.append(f"{left_out:,} on other data, or other splits, of the same name are left out")
    return said


def _record(dataset: str, line: Line) -> dict[str, Any]:
    """Plain numbers, one column each."""
    found: dict[str, Any] = {
        "dataset": dataset, "label": line.label, "method": line.method, "seeds": len(line.runs),
        "asked": line.asked,
        "valid_top_1_mean": spread(_valid(line))[0], "valid_top_1_std": spread(_valid(line))[1],
    }  # fmt: skip
    for decoding in DECODINGS:
        for k in K:
            name = f"{decoding}_top_{k}"
            found[f"{name}_mean"], found[f"{name}_std"] = spread(line.tops(decoding, k))
    return {**found, **{f"paper_top_{k}": line.paper.get(k) for k in K}}


def _valid(line: Line) -> list[float]:
    return numbers(run.row.valid for run in line.runs if run.row.valid is not None)


def _whole(dataset: str, line: Line) -> dict[str, Any]:
    """The same with the numbers of each run and of each class."""
    by_seed = {
        str(run.seed): {
            decoding: [value if value == value else None for value in run.top[decoding].tolist()]
            for decoding in DECODINGS
        }
        for run in line.runs
    }
    return {**_record(dataset, line), "runs": by_seed, "by_class": class_scores(line)}
