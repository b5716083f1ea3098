from __future__ import annotations

import pytest
from generation_rows import cell, generation_row
from scipy import stats

from gmpool.report.comparison import Cell
from gmpool.report.statistics import holm, paired
from gmpool.tasks.generate.paired import pair_tests, paired_grid
from gmpool.tasks.generate.recorded import lines_by_set

A, B, C = [10.0, 12.0, 9.0, 14.0, 11.0], [8.0, 9.5, 9.0, 10.0, 7.0], [20.0, 11.0, 19.0, 30.0, 18.0]


def line(method: str, strict: list[float], *, first: int = 1) -> Cell:
    """Strict validity of runs at the end; at the iteration before it was twice as high."""
    rows = [
        generation_row(method, {"strict": [2 * value, value], "loose": [value, 50.0]}, seed=seed)
        for seed, value in enumerate(strict, start=first)
    ]
    return cell(method, rows)


def test_paired_is_scipys() -> None:
    found = paired(A, B)
    assert (found.difference, found.n) == (pytest.approx(2.5), 5)
    assert found.t == pytest.approx(stats.ttest_rel(A, B).pvalue, rel=1e-12)
    assert found.wilcoxon == stats.wilcoxon(A, B).pvalue
    back = paired(B, A)
    assert (back.difference, back.t, back.wilcoxon) == (-2.5, found.t, found.wilcoxon)


def test_paired_without_spread() -> None:
    assert paired(A, A) == (0.0, 5, 1.0, 1.0)
    same = paired([3.0, 4.0, 5.0], [1.0, 2.0, 3.0])
    assert (same.difference, same.t) == (2.0, 0.0)
    assert same.wilcoxon == 0.25


def test_every_pair_of_the_papers_methods_by_every_score() -> None:
    cells = [line("mean", B), line("sum", A), line("mincut", A), line("gmpool", C)]
    tests = pair_tests(lines_by_set(cells)["QM9"], 1000)
    assert len(tests) == 3 * 4
    end = [t for t in tests if (t.score, t.part) == ("strict", "end")]
    pairs = [("mean", "mincut", B, A), ("mean", "gmpool", B, C), ("mincut", "gmpool", A, C)]
    assert [(t.first, t.second) for t in end] == [pair[:2] for pair in pairs]
    t = [stats.ttest_rel(a, b).pvalue for *_, a, b in pairs]
    wilcoxon = [stats.wilcoxon(a, b).pvalue for *_, a, b in pairs]
    assert [one.found and one.found.t for one in end] == pytest.approx(t)
    assert [one.t_holm for one in end] == pytest.approx(holm(t))
    assert [one.wilcoxon_holm for one in end] == pytest.approx(holm(wilcoxon))
    over = [t for t in tests if (t.score, t.part) == ("strict", "training")]
    assert [one.found and one.found.difference for one in over] == pytest.approx(
        [1.5 * -2.5, 1.5 * (8.7 - 19.6), 1.5 * (11.2 - 19.6)]
    )
    flat = [t for t in tests if (t.score, t.part) == ("loose", "end")]
    assert {(one.found, one.t_holm) for one in flat} == {((0.0, 5, 1.0, 1.0), 1.0)}


def test_common_seeds_alone_count() -> None:
    cells = [line("mean", A), line("mincut", B, first=3), line("gmpool", C, first=4)]
    grid = paired_grid("QM9", lines_by_set(cells)["QM9"], 1000, title="tests", notes=["mine"])
    assert grid is not None
    end = [
        record for record in grid.records if (record["score"], record["part"]) == ("strict", "end")
    ]
    assert [record["common_seeds"] for record in end] == [3, 2, 4]
    expected = [stats.ttest_rel(A[2:], B[:3]).pvalue, stats.ttest_rel(B[1:], C[:4]).pvalue]
    assert [end[0]["p_t"], end[2]["p_t"]] == pytest.approx(expected)
    assert [end[0]["p_t_holm"], end[2]["p_t_holm"]] == pytest.approx(holm(expected)), "of two"
    assert [end[1][name] for name in ("difference", "p_t", "p_t_holm", "p_wilcoxon")] == [None] * 4
    place = grid.records.index(end[1])
    assert [square.text for square in grid.lines[place]][4:] == ["fewer than 3 seeds", *4 * ["–"]]
    assert "Holm: corrected for the 2 pairs of one score; bold: p ≤ 0.05 after it" in grid.notes
    assert grid.notes[-1] == "mine"
    assert "with 3 seeds no p of Wilcoxon's test is below 0.25" in " ".join(grid.notes)


def test_what_is_significant_is_bold() -> None:
    cells = [line("mean", A), line("gmpool", [value + 30 + value / 9 for value in A])]
    grid = paired_grid("QM9", lines_by_set(cells)["QM9"], 1000, title="tests")
    assert grid is not None
    strict = grid.lines[3]
    assert [square.text for square in strict[:4]] == ["mean", "gmpool", "strict, at the end", "5"]
    assert [square.best for square in strict[5:]] == [False, True, False, False]
    assert [square.text for square in strict[5:]] == ["< 0.0001", "< 0.0001", "0.0625", "0.0625"]


def test_no_pair_no_grid() -> None:
    lines = lines_by_set([line("mean", A), line("sum", B)])["QM9"]
    assert paired_grid("QM9", lines, 1000, title="tests") is None


def test_one_seed_is_too_few_for_a_grid() -> None:
    lines = lines_by_set([line("mean", A[:1]), line("gmpool", B[:1])])["QM9"]
    assert [test.found for test in pair_tests(lines, 1000)] == [None] * 4
    assert paired_grid("QM9", lines, 1000, title="tests") is None
