from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ranking_rows import cell, ranking_row
from scipy import stats

from gmpool.report.comparison import Cell
from gmpool.report.statistics import holm
from gmpool.tasks.retrosynthesis.paired import PairTest, over_reactions, pair_tests, paired_grid
from gmpool.tasks.retrosynthesis.recorded import Line, lines_by_set

NUMBER = 60
SET = "USPTO-50k"


def ranks_of(method: str, seed: int) -> list[int]:
    """Of each reaction; worse for some methods."""
    noise = np.random.default_rng([seed, sum(map(ord, method))])
    worse = {"mean": 5, "mincut": 8, "gmpool": 2}.get(method, 3)
    return noise.integers(0, 3 + worse * np.arange(NUMBER) / 8).tolist()


def line(method: str, seeds: list[int], label: str = "", **values: Any) -> Cell:
    rows = [
        ranking_row(method, found, merged=[min(n, 12) for n in found], seed=seed, **values)
        for seed in seeds
        for found in [ranks_of(method, seed)]
    ]
    return cell(label or method, rows)


def lines(*cells: Cell) -> list[Line]:
    return lines_by_set(cells)[SET]


def hits(method: str, seeds: list[int], k: int) -> np.ndarray:
    """[S, n]"""
    found = np.array([ranks_of(method, seed) for seed in seeds])
    return (found > 0) & (found <= k)


def of(tests: list[PairTest], score: str) -> list[PairTest]:
    return [test for test in tests if test.score == score]


def test_every_pair_of_the_papers_methods_by_every_score() -> None:
    seeds = [1, 2, 3, 4]
    methods = ("mean", "max", "mincut", "gmpool")
    tests = pair_tests(lines(*(line(method, seeds) for method in methods)))
    assert [t.score for t in tests[::3]] == ["top-1", "top-10", "top-10, merged"]
    pairs = [("mean", "mincut"), ("mean", "gmpool"), ("mincut", "gmpool")]
    for k in (1, 10):
        found = of(tests, f"top-{k}")
        assert [(t.first, t.second) for t in found] == pairs
        tops = {m: 100 * hits(m, seeds, k).mean(1) for m in methods}
        t = [stats.ttest_rel(tops[a], tops[b]).pvalue for a, b in pairs]
        assert [one.over_seeds and one.over_seeds.t for one in found] == pytest.approx(t, rel=1e-3)
        assert [one.seeds_holm for one in found] == pytest.approx(holm(t), rel=1e-3)
        assert [one.difference for one in found] == pytest.approx(
            [tops[a].mean() - tops[b].mean() for a, b in pairs], abs=1e-3
        )
        z = []
        for a, b in pairs:
            each = hits(a, seeds, k).mean(0) - hits(b, seeds, k).mean(0)
            z.append(2 * stats.norm.sf(abs(each.mean()) / stats.sem(each)))
        assert [one.over_reactions and one.over_reactions.p for one in found] == pytest.approx(z)
        assert [one.reactions_holm for one in found] == pytest.approx(holm(z))
    assert min(t.reactions_holm or 0 for t in tests) < 0.05 < max(t.seeds_holm or 0 for t in tests)


def test_merged_ranks_are_tested_as_such() -> None:
    (merged,) = of(pair_tests(lines(line("mean", [1]), line("gmpool", [1]))), "top-10, merged")
    a, b = (np.minimum(ranks_of(m, 1), 12) for m in ("mean", "gmpool"))
    inside = [((x > 0) & (x <= 10)).mean() for x in (a, b)]
    assert merged.difference == pytest.approx(100 * (inside[0] - inside[1]), abs=1e-3)


def test_one_seed_is_mcnemars_test_and_no_t_test() -> None:
    first, second = (hits(method, [7], 1)[0] for method in ("mean", "gmpool"))
    only = int((first & ~second).sum()), int((second & ~first).sum())
    test = pair_tests(lines(line("mean", [7]), line("gmpool", [7])))[0]
    assert (test.over_seeds, test.seeds, test.seeds_holm) == (None, 1, None)
    assert test.over_reactions is not None
    assert test.over_reactions.exact
    assert test.over_reactions.p == stats.binomtest(only[0], sum(only), 0.5).pvalue
    assert test.difference == pytest.approx(100 * (only[0] - only[1]) / NUMBER, abs=1e-3)


def test_mcnemar_by_hand() -> None:
    first = np.array([[True] * 9 + [False] + [True] * 90])
    second = np.array([[False] * 9 + [True] + [True] * 90])
    found = over_reactions(first, second)
    assert found.p == pytest.approx(2 * (1 + 10) / 2**10)
    assert (found.n, found.difference, found.exact) == (100, pytest.approx(8.0), True)
    each = np.array([1.0] * 9 + [-1] + [0] * 90)
    assert found.error == pytest.approx(100 * stats.sem(each))
    back = over_reactions(second, first)
    assert (back.difference, back.p) == (pytest.approx(-8.0), found.p)


@pytest.mark.parametrize("seeds", [1, 3])
def test_lines_that_do_not_differ(seeds: int) -> None:
    same = np.array([[True, False, True]] * seeds)
    assert over_reactions(same, same) == (3, 0.0, 0.0, 1.0, seeds == 1)


def test_lines_that_differ_always() -> None:
    found = over_reactions(np.ones((2, 4), bool), np.zeros((2, 4), bool))
    assert (found.difference, found.error, found.p) == (100.0, 0.0, 0.0)


def test_common_seeds_alone_count() -> None:
    found = lines(line("mean", [1, 2, 3, 4]), line("mincut", [2, 3, 4, 5]), line("gmpool", [4, 9]))
    first, second, third = pair_tests(found)[:3]
    assert [t.seeds for t in (first, second, third)] == [3, 1, 1]
    tops = [100 * hits(m, [2, 3, 4], 1).mean(1) for m in ("mean", "mincut")]
    p = stats.ttest_rel(*tops).pvalue
    assert first.over_seeds is not None
    assert (first.over_seeds.t, first.seeds_holm) == (pytest.approx(p, rel=1e-3),) * 2
    assert second.over_seeds is third.over_seeds is None
    assert first.over_reactions
    assert second.over_reactions
    assert (first.over_reactions.exact, second.over_reactions.exact) == (False, True)
    grid = paired_grid(SET, found, title="tests")
    assert grid is not None
    notes = " ".join(grid.notes)
    assert "McNemar: with one common seed" in notes
    assert "normal: of each reaction" in notes
    assert [column.small for column in grid.columns][-2:] == ["", ""], "two kinds"


def test_other_options_of_a_method_are_a_line() -> None:
    other = line("gmpool", [1, 2, 3], "over seeds", pool={"softmax": "seeds"})
    tests = pair_tests(lines(line("gmpool", [1, 2, 3]), other, line("frequency", [1, 2, 3])))
    assert {(t.first, t.second) for t in tests} == {("gmpool", "over seeds")}
    assert tests[0].difference == 0
    assert tests[0].over_seeds == (0.0, 3, 1.0, 1.0)


@pytest.mark.parametrize("name", ["data_digest", "split_digest"])
def test_other_data_are_never_paired_by_reaction(name: str) -> None:
    found = lines(line("mean", [1, 2, 3]), line("gmpool", [1, 2, 3], **{name: "other"}))
    tests = pair_tests(found)
    assert all(t.over_reactions is None and t.over_seeds for t in tests)
    grid = paired_grid(SET, found, title="tests")
    assert grid is not None
    assert any(note.startswith("a pair without common data") for note in grid.notes)
    assert [square.text for square in grid.lines[0]][-3:] == ["–"] * 3


def test_rows_without_ranks_have_no_test_over_reactions() -> None:
    bare = line("gmpool", [1, 2, 3])
    rows = [
        replace(row, more={"retrosynthesis": {"top": row.more["retrosynthesis"]["top"]}})
        for row in bare.rows
    ]
    tests = pair_tests(lines(line("mean", [1, 2, 3]), replace(bare, rows=rows)))
    assert all(t.over_reactions is None and t.over_seeds for t in tests)


def test_the_grid_says_what_was_tested() -> None:
    seeds = [1, 2, 3]
    found = lines(line("mean", seeds), line("gmpool", seeds, "GMPool_1"))
    grid = paired_grid(SET, found, title="tests", notes=["mine"])
    assert grid is not None
    assert grid.title == "tests"
    assert [square.text for square in grid.lines[0]][:4] == ["mean", "GMPool_1", "top-1", "3"]
    record = grid.records[0]
    assert record["p_reactions"] == pytest.approx(record["p_reactions_holm"]), "one pair"
    texts = [square.text for square in grid.lines[0]][4:]
    assert texts[0] == f"{record['difference']:+.2f}"
    assert texts[1] == texts[2] == f"{record['p_seeds']:.4f}"
    assert texts[3] == f"{record['error_reactions']:.2f}"
    assert (record["common_seeds"], record["common_reactions"]) == (3, NUMBER)
    for place, (name, column) in enumerate((("p_seeds", 6), ("p_reactions", 9))):
        bold = [row[column].best for row in grid.lines]
        assert bold == [one[f"{name}_holm"] <= 0.05 for one in grid.records], place
    notes = " ".join(grid.notes)
    assert "does not cover the spread of seeds" in notes
    assert "corrected for the 1 pair of one score" in notes
    assert "reactions: 60" in notes
    assert grid.notes[-1] == "mine"


def test_no_pair_no_grid() -> None:
    for cells in (
        [line("mean", [1]), line("max", [1])],
        [line("mean", [1]), line("gmpool", [2])],
        [line("mean", [1])],
    ):
        assert paired_grid(SET, lines(*cells), title="tests") is None


def test_runs_without_a_number_have_no_part() -> None:
    none = {"published": [None] * 6, "merged": [None] * 6}
    cells = [line("mean", [1, 2, 3]), line("gmpool", [1, 2])]
    odd = ranking_row("gmpool", ranks_of("gmpool", 3), seed=3, more={"top": none})
    both = lines(cells[0], replace(cells[1], rows=[*cells[1].rows, odd]))
    test = pair_tests(both)[0]
    assert test.seeds == 2
    assert test.difference is not None
    assert not math.isnan(test.difference)
