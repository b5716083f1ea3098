"""Tables of generated molecules: at the end, over the training, how many runs collapsed, tests."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gmpool.record import Row
from gmpool.report.comparison import Cell
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.number_text import pair
from gmpool.report.provenance import facts, provenance_note
from gmpool.report.statistics import best_or_comparable
from gmpool.report.summary import summarise
from gmpool.tasks.generate.collapse import COLLAPSE_NOTES, Collapse, collapse_columns
from gmpool.tasks.generate.paired import paired_grid
from gmpool.tasks.generate.recorded import (
    CURVES,
    Line,
    last_common,
    lines_by_set,
    numbers,
    require_runs,
)

ALL_THREE = "valid × unique × novel %"
HEADINGS = {
    "loose": "loose %", "strict": "strict %", "unique": "unique %", "novel": "novel %",
    "vun": ALL_THREE, "qed": "QED", "logp": "logP", "sa": "SA",
}  # fmt: skip
COMPARED = ("loose", "strict", "vun")
"""Scores of which more is better, whatever the others are."""
_WIDE = ("novel", "qed", "logp", "sa")
"""Columns that a narrow terminal has no room for."""
_BEST = (
    "bold: the best of a column and those not significantly worse (Welch's t-test over seeds, "
    "two-sided, p > 0.05); with one seed the best alone, which is no test"
)


def summary(rows: Sequence[Row]) -> list[Grid]:
    """The tables of a store: a line for each method with settings of its own."""
    lines = summarise(row for row in rows if row.task == "generate")
    most: dict[str, int] = defaultdict(int)
    for line in lines:
        most[line.dataset] = max(most[line.dataset], len({row.seed for row in line.rows}))
    cells = [Cell(s.label, s.method, s.dataset, most[s.dataset], s.rows) for s in lines]
    if cells and not any("generated" in row.more for cell in cells for row in cell.rows):
        return [_unscored(cells)]
    return grids(cells, "Generated molecules")


def _unscored(cells: Sequence[Cell]) -> Grid:
    """For a store that was made where RDKit is not installed, so that training ends with a word."""
    runs = [Square(str(len(cell.rows))) for cell in cells]
    names = [Square(cell.label) for cell in cells]
    note = "not scored yet, which needs RDKit: gmpool table scores them where it is installed"
    return Grid("Generated molecules", [Column("method", names, left=True), Column("runs", runs)],
                notes=[note])  # fmt: skip


def grids(cells: Sequence[Cell], title: str) -> list[Grid]:
    """For each set three grids, of which the first has the numbers of the lines in all of them, and
    one of tests where there are two lines to test."""
    found = lines_by_set(cells)
    require_runs(found)
    made = []
    for dataset, lines in found.items():
        if any(line.runs for line in lines):
            names = [title, dataset] if len(found) > 1 else [title or dataset]
            made += _grids(dataset, lines, ", ".join(filter(None, names)))
    return made


def _grids(dataset: str, lines: Sequence[Line], title: str) -> list[Grid]:
    last = last_common(lines)
    rows = [run.row for line in lines for run in line.runs]
    made = facts(rows)
    runs = [*_runs_notes(lines), *filter(None, [provenance_note(rows)])]
    best = [_BEST] if sum(bool(line.runs) for line in lines) > 1 else []
    shown = [
        Grid(
            title=f"{title}: at the end",
            columns=[*_heads(lines), *_end_columns(lines, last)],
            notes=[*_end_notes(lines, last), *best, *runs],
            records=[_record(dataset, line, last) for line in lines],
            whole=[_whole(dataset, line, last) for line in lines],
            facts=made,
        ),
        Grid(
            title=f"{title}: over the training",
            columns=[*_heads(lines), *_training_columns(lines, last)],
            notes=[*_training_notes(last), *best, *runs],
            whole=[],
            facts=made,
        ),
        Grid(
            title=f"{title}: collapse",
            columns=[*_heads(lines), *collapse_columns(lines, last)],
            notes=[*COLLAPSE_NOTES, *runs],
            whole=[],
            facts=made,
        ),
    ]
    tests = paired_grid(dataset, lines, last, title=f"{title}: paired tests", notes=runs)
    return [*shown, *([tests] if tests else [])]


def _heads(lines: Sequence[Line]) -> list[Column]:
    counts = [(len(line.runs), line.asked) for line in lines]
    seeds = [Square(f"{n} of {asked}" if n < asked else str(n)) for n, asked in counts]
    names = [Square(line.label) for line in lines]
    return [Column("method", names, left=True), Column("seeds", seeds)]


def _end_columns(lines: Sequence[Line], last: int) -> list[Column]:
    columns = []
    for name, heading in HEADINGS.items():
        values = [[run.at(name, last) for run in line.runs] for line in lines]
        compared, essential = name in COMPARED, name not in _WIDE
        columns.append(_column(heading, values, compared=compared, essential=essential))
    return columns


def _training_columns(lines: Sequence[Line], last: int) -> list[Column]:
    columns = []
    for name in COMPARED:
        values = [[run.average(name, last) for run in line.runs] for line in lines]
        columns.append(_column(HEADINGS[name], values, compared=True))
    best = [[run.highest("vun", last) for run in line.runs] for line in lines]
    return [*columns, _column(f"best {ALL_THREE}", best)]


def _column(
    heading: str,
    values: Sequence[Sequence[float]],
    *,
    compared: bool = False,
    essential: bool = True,
) -> Column:
    """values: of the runs of each line. A line that stands alone is not the best."""
    samples = {str(place): known for place, of in enumerate(values) if (known := numbers(of))}
    compared = compared and len(samples) > 1
    verdicts = best_or_comparable(samples, higher=True) if compared else {}
    squares = [
        Square(
            pair(*_spread(samples.get(place, []))),
            best=place in verdicts and verdicts[place].comparable,
        )
        for place in map(str, range(len(values)))
    ]
    return Column(heading, squares, essential=essential)


def _spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and deviation."""
    mean = statistics.fmean(values) if values else None
    return mean, statistics.stdev(values) if len(values) > 1 else None


def _end_notes(lines: Sequence[Line], last: int) -> list[str]:
    runs = [run for line in lines for run in line.runs]
    draws = sorted({run.generated["draws"] for run in runs if "draws" in run.generated})
    longest = max(int(run.iterations[-1]) for run in runs)
    further = f"; some run went on to {longest:,}" if longest > last else ""
    of = f", of {' or '.join(f'{n:,}' for n in draws)} draws" if draws else ""
    said = [
        f"mean ± deviation over seeds at iteration {last:,}, the last of all runs{further}",
        f"loose: draws that RDKit accepts{of}; places without atom may hang on as dummies and "
        "parts may be apart, as the published code counts but for hydrogens of aromatic nitrogens",
        "strict: draws that are one connected molecule without dummies; these are the valid ones",
        "unique: distinct molecules, of the valid draws; novel: those that are not in the training "
        f"set, of the distinct ones; {ALL_THREE}: distinct valid new molecules, of all draws",
        "GANs of this family collapse, the published ones too: validity without unique says little",
        "QED: drug-likeness, 0 to 1; logP: octanol-water partition; SA: synthetic accessibility, 1 "
        "(easy) to 10: means over at most 1,000 valid draws",
    ]
    if empty := sum(run.at("distinct", last) == 0 for run in runs):
        said.append(
            f"{empty} of {len(runs)} runs end without a valid molecule: they have no part in "
            "unique, novel, QED, logP and SA"
        )
    return said


def _training_notes(last: int) -> list[str]:
    return [
        "each run's mean over all iterations at which molecules were drawn, up to iteration "
        f"{last:,}, which is what curves over the training show; then mean ± deviation over seeds",
        f"best {ALL_THREE}: each run at its own best iteration, chosen by this very score",
        "loose and strict validity, unique and novel: as at the end",
    ]


def _runs_notes(lines: Sequence[Line]) -> list[str]:
    counted = sum(len(line.runs) for line in lines)
    said = [f"{counted:,} {'run' if counted == 1 else 'runs'} in all"]
    if unscored := sum(line.unscored for line in lines):
        said.append(
            f"{unscored:,} more recorded without RDKit wait for their scores; where RDKit is "
            'installed (pip install "gmpool[chem]") the table has them'
        )
    if left_out := sum(line.left_out for line in lines):
        said.append(f"{left_out:,} on other data, or other splits, of the same name are left out")
    return said


def _record(dataset: str, line: Line, last: int) -> dict[str, Any]:
    """Plain numbers, one column each."""
    found: dict[str, Any] = {
        "dataset": dataset, "label": line.label, "method": line.method, "seeds": len(line.runs),
        "asked": line.asked, "iteration": last,
    }  # fmt: skip
    parts = {
        **{name: [run.at(name, last) for run in line.runs] for name in CURVES},
        **{f"training_{n}": [run.average(n, last) for run in line.runs] for n in COMPARED},
        "best_vun": [run.highest("vun", last) for run in line.runs],
    }
    for name, values in parts.items():
        found[f"{name}_mean"], found[f"{name}_std"] = _spread(numbers(values))
    return found | Collapse.of(line, last)._asdict()


def _whole(dataset: str, line: Line, last: int) -> dict[str, Any]:
    """The same with the numbers of each run."""
    by_seed = {
        str(run.seed): {
            "end": {name: _plain(run.at(name, last)) for name in CURVES},
            "training": {name: _plain(run.average(name, last)) for name in COMPARED},
        }
        for run in line.runs
    }
    return {**_record(dataset, line, last), "runs": by_seed}


def _plain(value: float) -> float | None:
    return value if value == value else None
