"""docs/evidence.md and docs/deviations.md count cells as the tables and the rows have them."""

from __future__ import annotations

import re
from collections import Counter
from statistics import mean, stdev

from doc_blocks import ROOT

from gmpool.data import CATALOGUE
from gmpool.engine.job import Recorded
from gmpool.engine.plan import cells_of, read_plan
from gmpool.engine.store import RunStore
from gmpool.record import Row
from gmpool.report.paper import published
from gmpool.tasks.generate.paired import pair_tests
from gmpool.tasks.generate.recorded import Line, lines_by_set


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


PAGE = page("evidence.md")
TABLE = (ROOT / "results" / "table1" / "table1.md").read_text(encoding="utf-8")
SETS = 10


def standing(cell: str) -> str | None:
    """Of a cell for which the paper has a number."""
    paper = re.search(r"paper ([\d.]+) ± ([\d.]+)", cell)
    if paper is None:
        return None
    ours = re.match(r"\W*([\d.]+) ± ([\d.]+)", cell)
    if ours is None:
        return "missing"
    if "ⁱ" in cell:
        return "fewer"
    gap = float(ours[1]) - float(paper[1])
    if abs(gap) <= max(float(ours[2]), float(paper[2])):
        return "within"
    return "above" if gap > 0 else "below"


def cells_by_line() -> list[list[str]]:
    """The table's head, and the cells of the sets in each line."""
    lines = [line.split("|") for line in TABLE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[2 : 2 + SETS]] for line in (lines[0], *lines[2:])]


def test_it_counts_what_the_table_shows() -> None:
    _, *lines = cells_by_line()
    cells = Counter(filter(None, (standing(cell) for line in lines for cell in line)))
    tens = cells["within"] + cells["above"] + cells["below"]
    assert f"Of the {cells.total()} published cells {tens} have ten seeds here" in PAGE
    assert f"{cells['within']} are within one deviation" in PAGE
    assert f"{cells['above']} above and {cells['below']} below" in PAGE
    assert f"{cells['fewer']} have fewer seeds, and {cells['missing']} are missing" in PAGE


def test_it_says_with_how_many_methods_gmt_is_compared() -> None:
    head, *lines = cells_by_line()
    for name, column in zip(head, zip(*lines, strict=True), strict=True):
        whole = [cell for cell in column if not cell.startswith("–") and "ⁱ" not in cell]
        assert re.search(rf"\b{name.split()[0]} {len(whole) - 1}\b", PAGE), (name, len(whole) - 1)


def over_seeds(rows: list[Row], scores: list[float]) -> tuple[float, float]:
    """Mean and deviation over seeds of the means over folds."""
    seeds = {row.seed for row in rows}
    means = [mean(s for r, s in zip(rows, scores, strict=True) if r.seed == n) for n in seeds]
    return mean(means), stdev(means)


def best(row: Row) -> float:
    """What the authors log: the maximum over epochs."""
    return max(score for score in row.curve["valid_metric"] if score is not None)


def test_it_counts_the_validation_table_by_both_definitions() -> None:
    recorded = Recorded(RunStore(ROOT / "results" / "table1"))
    cells, ours, theirs = 0, 0, 0
    for job in read_plan("table1").jobs():
        rows = recorded.of(job)
        paper = published(job.name, job.model.method, "valid")
        of_tu = CATALOGUE[job.name].kind == "tu"
        if not of_tu or len(rows) < len(job.runs) or paper is None:
            continue
        cells += 1
        for scores, mine in (([row.valid for row in rows], True), (list(map(best, rows)), False)):
            value, deviation = over_seeds(rows, scores)
            near = abs(value - paper.mean) <= max(deviation, paper.std or 0.0)
            ours, theirs = ours + (near and mine), theirs + (near and not mine)
    said = page("deviations.md")
    counted = "Of the {} cells of TU sets with ten seeds and a paper's number {} are within"
    assert counted.format(cells, theirs) in said
    assert f"from the recorded curves, and {ours} by ours" in said


NAMES = {
    "mean": "mean",
    "mean-wide": "mean, as many parameters as GMPool_1",
    "mincut": "MinCutPool",
    "GMPool_1 over nodes": "GMPool_1 over nodes",
    "GMPool_1 over seeds": "GMPool_1 over seeds",
}
LAST = 10_000


def molgan_lines() -> dict[str, Line]:
    rows = Recorded(RunStore(ROOT / "results" / "molgan-cpu"))
    found = lines_by_set(cells_of(read_plan("molgan").jobs(), rows))["QM9"]
    return {line.label: line for line in found}


def test_it_says_what_is_recorded_of_generated_molecules() -> None:
    lines = molgan_lines()
    assert {label: len(line.runs) for label, line in lines.items()} == {
        label: 8 if label in NAMES else 4 for label in lines
    }
    for label, name in NAMES.items():
        runs = lines[label].runs
        averages = ([run.average(score, LAST) for run in runs] for score in ("loose", "strict"))
        loose, strict = (f"{mean(each):.1f} ± {stdev(each):.1f}" for each in averages)
        distinct = f"{mean(run.at('distinct', LAST) for run in runs):.0f}"
        assert f"| {name} | {len(runs)} | {loose} | {strict} | {distinct} |" in PAGE
    nodes = lines["GMPool_1 over nodes"].runs
    collapsed = sum(run.at("unique", LAST) < 5 for run in nodes)
    assert f"{collapsed} of its {len(nodes)} runs with less than 5 % distinct" in PAGE
    assert min(run.at("unique", LAST) for run in lines["mean"].runs) >= 5
    strict = [run.at("strict", LAST) for run in nodes]
    assert f"runs from {min(strict):.1f} to {max(strict):.1f} %" in PAGE
    best = max(run.at("vun", LAST) for line in lines.values() for run in line.runs)
    assert f"more than {best:.1f} % of its draws valid" in PAGE


def test_it_says_what_paired_tests_of_them_give() -> None:
    tests = {
        (t.first, t.second, t.score, t.part): t
        for t in pair_tests(list(molgan_lines().values()), LAST)
    }
    nodes = "GMPool_1 over nodes"
    p = [
        tests[other, nodes, score, "training"].t_holm
        for score in ("loose", "strict")
        for other in ("mean", "mincut")
    ]
    shown = "p = {:.3f} and {:.3f} for loose, {:.3f} and {:.3f} for strict".format(*p)
    assert shown in PAGE
    wide = [tests["mean-wide", nodes, score, "training"] for score in ("loose", "strict")]
    for test, words in zip(
        wide, ("{:.1f} points of loose validity", "{:.1f} of strict"), strict=True
    ):
        assert test.found is not None
        assert f"{words.format(-test.found.difference)} (p = {test.t_holm:.3f}" in PAGE
    ends = [t.t_holm for t in tests.values() if t.part == "end"]
    assert min(p for p in ends if p is not None) > 0.05
    for score in ("loose", "strict"):
        assert tests["mean", "mincut", score, "training"].t_holm > 0.05
    floor = min(t.wilcoxon_holm for t in tests.values() if t.wilcoxon_holm is not None)
    assert f"cannot be below {floor:.3f} after that correction" in PAGE
