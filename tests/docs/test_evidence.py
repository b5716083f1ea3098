"""docs/evidence.md and docs/deviations.md count cells as the tables and the rows have them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from statistics import mean, stdev
from typing import Any

import numpy as np
from doc_blocks import ROOT

from gmpool.engine.job import Recorded
from gmpool.engine.plan import cells_of, read_plan
from gmpool.engine.store import RunStore
from gmpool.report.paper import published
from gmpool.report.statistics import paired
from gmpool.tasks.generate.paired import PairTest, pair_tests
from gmpool.tasks.generate.recorded import Line, lines_by_set
from gmpool.tasks.retrosynthesis.top_k import K


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


PAGE = page("evidence.md")
SETS = 10


def table(name: str = "table1") -> str:
    return (ROOT / "results" / "table1" / f"{name}.md").read_text(encoding="utf-8")


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


def cells_by_line(name: str = "table1") -> list[list[str]]:
    """The table's head, and the cells of the sets in each line."""
    lines = [line.split("|") for line in table(name).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[2 : 2 + SETS]] for line in (lines[0], *lines[2:])]


def counted(name: str) -> tuple[Counter[str], Counter[str]]:
    """How the cells of a table stand, of TU sets and of OGB's."""
    head, *lines = cells_by_line(name)
    of_tu, of_ogb = Counter[str](), Counter[str]()
    for column in zip(head, *lines, strict=True):
        kind = of_ogb if column[0].startswith("ogbg-") else of_tu
        kind.update(filter(None, map(standing, column[1:])))
    return of_tu, of_ogb


def test_it_counts_what_the_table_shows() -> None:
    cells = sum(counted("table1"), Counter[str]())
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


def test_it_counts_the_validation_table_by_both_definitions() -> None:
    for name, of_tu in (("validation-authors", "by the authors'"), ("validation", "by ours")):
        tu, ogb = counted(name)
        tens = [sum(of[word] for word in ("within", "above", "below")) for of in (tu, ogb)]
        said = f"{tu['within']} of {tens[0]} on TU sets and {ogb['within']} of {tens[1]} on OGB's"
        assert f"{said} {of_tu}" in PAGE, said


OFF = re.compile(
    r"\| ([\w-]+) \| ([\w-]+) \| ([\d.]+ ± [\d.]+ ?ⁱ?) \| ([\d.]+ ± [\d.]+) \| (.+?) \|"
)


def test_every_cell_that_is_off_has_a_cause_or_none_that_is_known() -> None:
    """Beyond one deviation, the larger of the two; with all their seeds or with fewer."""
    off: dict[tuple[str, str], tuple[str, str]] = {}
    _, *lines = (line.split("|") for line in table().splitlines() if line.startswith("| "))
    head, *_ = cells_by_line()
    for line in lines[1:]:
        for name, cell in zip(head, line[2 : 2 + SETS], strict=True):
            if standing(cell.strip().replace("ⁱ", "")) in ("above", "below"):
                ours = re.search(r"[\d.]+ ± [\d.]+", cell)
                paper = re.search(r"paper ([\d.]+ ± [\d.]+)", cell)
                assert ours is not None is not paper
                few = " ⁱ" * ("ⁱ" in cell)
                off[name.split()[0], line[1].strip()] = ours[0] + few, paper[1]
    text = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    told = OFF.findall(text.split("### Cells that are off")[1].split("\n## ")[0])
    assert {(name, method): (ours, paper) for name, method, ours, paper, _ in told} == off
    assert len(told) == len(off), "each once"
    for *_, why in told:
        assert not why.startswith("not explained") or re.match(
            r"not explained, (tried: |nothing tried)", why
        ), why


NAMES = {
    "mean": "mean",
    "mean-wide": "mean, as many parameters as GMPool_1",
    "sum": "sum",
    "max": "maximum",
    "set2set": "Set2Set",
    "mincut": "MinCutPool",
    "gmt": "GMT",
    "GMPool_1 over nodes": "GMPool_1 over nodes",
    "GMPool_1 over seeds": "GMPool_1 over seeds",
}
NODES, SEEDS = "GMPool_1 over nodes", "GMPool_1 over seeds"
SCORES = ("loose", "strict")
LAST = 10_000
Tests = dict[tuple[str, str, str, str], PairTest]


def molgan_lines(store: str = "molgan") -> dict[str, Line]:
    rows = Recorded(RunStore(ROOT / "results" / store))
    found = lines_by_set(cells_of(read_plan("molgan").jobs(), rows))["QM9"]
    return {line.label: line for line in found}


LINES = molgan_lines()


def paired_tests(lines: Iterable[Line]) -> Tests:
    found = pair_tests(list(lines), LAST)
    return {(t.first, t.second, t.score, t.part): t for t in found}


def over_training(label: str, score: str) -> list[float]:
    return [run.average(score, LAST) for run in LINES[label].runs]


def at_end(label: str, score: str) -> list[float]:
    return [run.at(score, LAST) for run in LINES[label].runs]


def above(tests: Tests, first: str, second: str, score: str) -> float:
    """By how much the second is above the first, over the training."""
    found = tests[first, second, score, "training"].found
    assert found is not None
    return -found.difference


def p_of(tests: Tests, first: str, second: str, score: str, part: str = "training") -> float:
    p = tests[first, second, score, part].t_holm
    assert p is not None
    return p


def test_it_says_what_is_recorded_of_generated_molecules() -> None:
    assert LINES.keys() == NAMES.keys()
    assert {len(line.runs) for line in LINES.values()} == {20}
    assert {run.row.device for line in LINES.values() for run in line.runs} == {"NVIDIA H200"}
    for label, name in NAMES.items():
        columns = [of(label, score) for of in (over_training, at_end) for score in SCORES]
        shown = " | ".join(f"{mean(each):.1f} ± {stdev(each):.1f}" for each in columns)
        distinct = f"{mean(at_end(label, 'distinct')):.0f}"
        collapsed = sum(share < 5 for share in at_end(label, "unique"))
        assert f"| {name} | {shown} | {distinct} | {collapsed} |" in PAGE


def test_it_says_how_runs_of_generated_molecules_end() -> None:
    strict, distinct = at_end(NODES, "strict"), mean(at_end(NODES, "distinct"))
    assert f"runs from {min(strict):.1f} to {max(strict):.1f} %" in PAGE
    assert distinct == min(mean(at_end(label, "distinct")) for label in LINES)
    assert f"the fewest distinct molecules, {distinct:.0f} of 13,319 draws" in PAGE
    collapsed = {label: sum(s < 5 for s in at_end(label, "unique")) for label in LINES}
    assert max(collapsed, key=collapsed.__getitem__) == NODES
    assert f"collapses most**: {collapsed[NODES]} of its 20 runs" in PAGE
    assert [label for label, count in collapsed.items() if not count] == ["max", "gmt"]
    for score in SCORES:
        assert max(LINES, key=lambda label: mean(at_end(label, score))) == "mean-wide"
    training = {label: mean(over_training(label, "vun")) for label in LINES}
    end = {label: mean(at_end(label, "vun")) for label in LINES}
    for of in (training, end):
        assert max(of, key=of.__getitem__) == "gmt"
    assert min(end, key=end.__getitem__) == NODES
    shown = f"over the training ({training['gmt']:.1f} %) and at the end ({end['gmt']:.1f} %)"
    assert f"{shown}, where GMPool_1 over nodes is last ({end[NODES]:.1f} %)" in PAGE
    best = max(share for label in LINES for share in at_end(label, "vun"))
    assert f"No run of any line ends with more than {best:.1f} %" in PAGE


def test_it_says_what_paired_tests_of_the_training_give() -> None:
    tests = paired_tests(LINES.values())
    others = [(other, score) for other in ("mean", "mincut") for score in SCORES]
    for other, score in others:
        test = tests[other, NODES, score, "training"]
        assert test.wilcoxon_holm is not None
        assert max(p_of(tests, other, NODES, score), test.wilcoxon_holm) < 0.001
        assert above(tests, other, NODES, score) > 0 < above(tests, other, SEEDS, score)
    assert "p < 0.001 in all four" in PAGE
    largest = max(p_of(tests, other, SEEDS, score) for other, score in others)
    assert f"GMPool_1 over seeds (p at most {largest:.3f})" in PAGE
    pair = ("mean", "mincut")
    gaps, p = zip(*((above(tests, *pair, s), p_of(tests, *pair, s)) for s in SCORES), strict=True)
    shown = "by {:.1f} points of loose validity and {:.1f} of strict, which is not significant"
    assert min(p) > 0.05
    assert f"{shown.format(*gaps)} (p = {p[0]:.3f} and {p[1]:.3f})" in PAGE
    pair = (NODES, SEEDS)
    gaps, p = zip(*((-above(tests, *pair, s), p_of(tests, *pair, s)) for s in SCORES), strict=True)
    (gap,) = {f"{each:.1f}" for each in gaps}
    assert f"above over seeds by {gap} of both (p = {p[0]:.3f} and {p[1]:.3f})" in PAGE


def test_it_says_how_much_may_be_size() -> None:
    tests, wide = paired_tests(LINES.values()), "mean-wide"
    gaps = [above(tests, wide, NODES, score) for score in SCORES]
    shown = "ahead by {:.1f} points of loose validity and {:.1f} of strict (p < 0.001 in both)"
    assert shown.format(*gaps) in PAGE
    assert max(p_of(tests, wide, NODES, score) for score in SCORES) < 0.001
    loose, strict = (above(tests, "mean", wide, score) for score in SCORES)
    p_loose, p_strict = (p_of(tests, "mean", wide, score) for score in SCORES)
    assert f"above the smaller one by {strict:.1f} of strict (p = {p_strict:.3f})" in PAGE
    assert f"by {loose:.1f} of loose (p = {p_loose:.3f}, not significant), a quarter" in PAGE
    assert p_strict <= 0.05 < p_loose
    assert round(strict / above(tests, "mean", NODES, "strict"), 2) in (0.32, 0.33, 0.34)
    assert round(loose / above(tests, "mean", NODES, "loose"), 2) in (0.24, 0.25, 0.26)


def test_it_says_how_a_maximum_stands() -> None:
    loose, strict = (paired(over_training("max", s), over_training(NODES, s)) for s in SCORES)
    shown = f"{-strict.difference:.1f} points below GMPool_1 over nodes over the training"
    assert f"{shown} (paired t-test, p = {strict.t:.2f})" in PAGE
    assert f"loose validity it is {-loose.difference:.1f} below (p < 0.001)" in PAGE
    assert loose.t < 0.001
    (few,) = {run.row.parameters for label in ("max", "mean") for run in LINES[label].runs}
    assert few < LINES[NODES].runs[0].row.parameters


def test_it_says_that_the_end_shows_no_difference() -> None:
    ends = [t for t in paired_tests(LINES.values()).values() if t.part == "end"]
    smallest = min(t.t_holm for t in ends if t.t_holm is not None)
    assert f"The smallest p of ten pairs on two scores is {smallest:.3f}" in PAGE
    assert min(smallest, *(t.wilcoxon_holm for t in ends if t.wilcoxon_holm is not None)) > 0.05


def test_it_says_what_eight_seeds_on_cpu_cores_gave() -> None:
    of_cpu = molgan_lines("molgan-cpu")
    tested = [of_cpu[label] for label in ("mean", "mean-wide", "mincut", NODES, SEEDS)]
    assert {len(line.runs) for line in tested} == {8}
    here = {run.seed for run in LINES["mean"].runs}
    there = {run.seed for line in tested for run in line.runs}
    assert len(there) == 8
    assert there < here
    tests = paired_tests(tested)
    for other in ("mean", "mincut"):
        for score in SCORES:
            assert p_of(tests, other, NODES, score) <= 0.05
            assert above(tests, other, NODES, score) > 0
    wide = p_of(tests, "mean-wide", NODES, "strict")
    assert wide > 0.05
    assert f"not the strict validity beside the larger mean (p = {wide:.3f})" in PAGE
    assert min(run.at("unique", LAST) for run in of_cpu["mean"].runs) >= 5
    assert min(p_of(tests, *key) for key in tests if key[-1] == "end") > 0.05


def test_it_says_what_the_other_twelve_seeds_give() -> None:
    known = {run.seed for run in molgan_lines("molgan-cpu")["mean"].runs}
    tests = paired_tests(
        replace(line, runs=tuple(run for run in line.runs if run.seed not in known))
        for line in LINES.values()
    )
    assert {test.seeds for test in tests.values()} == {12}
    p = [p_of(tests, other, NODES, score) for other in ("mean", "mincut") for score in SCORES]
    assert f"(p = {p[0]:.3f} for loose, p < 0.001 for strict)" in PAGE
    assert p[1] < 0.001
    shown = f"above MinCutPool on strict validity (p = {p[3]:.3f}), not significantly on loose"
    assert f"{shown} (p = {p[2]:.3f})" in PAGE
    assert max(p[0], p[3]) <= 0.05 < p[2]


def retrosynthesis_rows(store: str) -> dict[tuple[str, str], Any]:
    rows = RunStore(ROOT / "results" / store)
    return {(row.dataset, row.method): row for row in rows}


def test_it_says_what_is_recorded_of_retrosynthesis() -> None:
    floor, short = retrosynthesis_rows("gln"), retrosynthesis_rows("gln-cpu")
    given = "USPTO-50k-given"
    for name, row in (
        ("frequency", floor[given, "frequency"]),
        ("mean", short[given, "mean"]),
        ("GMPool_1", short[given, "gmpool"]),
    ):
        steps = row.epochs * (row.config["train"]["epoch_steps"] if row.epochs else 0)
        shares = " | ".join(
            f"{share:.1f}" for share in row.more["retrosynthesis"]["top"]["published"]
        )
        assert f"| {name} | {steps:,} | {shares} |" in PAGE
    theirs = [published(given, "mean", f"top-{k}") for k in K]
    means = [each[0] for each in theirs if each]
    assert f"| 30,000 | {' | '.join(f'{each:.1f}' for each in means)} |" in PAGE
    unknown = floor["USPTO-50k", "frequency"].more["retrosynthesis"]["top"]["published"]
    said = [f"{share:.1f}" for share in unknown]
    assert f"frequency gives {', '.join(said[:-1])} and {said[-1]} %" in PAGE
    own = short[given, "mean"]
    assert f"top-1 is {means[0] - own.test:.1f} points below" in PAGE
    rises = [b - a for a, b in pairwise(own.curve["valid_metric"])]
    assert min(rises) > 1, "with every 600 steps"
    gap = abs(own.test - short[given, "gmpool"].test)
    assert f"{gap:.1f} points at top-1" in PAGE
    found = np.array(floor["USPTO-50k", "frequency"].more["retrosynthesis"]["ranks"]["merged"]) > 0
    assert f"Templates reach {100 * found.mean():.0f} %" in PAGE
