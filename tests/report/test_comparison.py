from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from plan_rows import PAPER, like_the_paper, plan, recorded

from gmpool.engine.cell import Line
from gmpool.report.comparison import compare

PLAN = plan(("gmt", "mean", "gin"))
GMT, GMT_DD, MEAN, MEAN_DD, GIN, GIN_DD = PLAN.cells()


def test_a_complete_cell() -> None:
    rows = recorded(GMT, [80.0, 90.0], [82.0, 84.0], seconds=10.0)
    score = compare(PLAN, rows).scores["gmt", "MUTAG"]
    assert score.scores == (85.0, 83.0)
    assert (score.mean, score.std) == (84.0, pytest.approx(statistics.stdev([85.0, 83.0])))
    assert (score.runs, score.asked, score.incomplete, score.over) == (4, 4, False, "seeds")
    assert (score.parameters, score.seconds) == (12345, 40.0)
    assert score.paper is not None
    assert score.difference == pytest.approx(84.0 - 83.44)


def test_one_seed_is_incomplete_over_folds_and_without_test() -> None:
    rows = recorded(GMT, [80.0, 90.0]) + recorded(MEAN, [60.0, 62.0], [61.0, 63.0])
    found = compare(PLAN, rows)
    score = found.scores["gmt", "MUTAG"]
    assert (score.scores, score.over, score.incomplete) == ((80.0, 90.0), "folds", True)
    assert (score.verdict.comparable, score.tested) == (True, False)
    assert found.scores["mean", "MUTAG"].verdict.comparable is False
    assert [s.best for s in found.standings] == [None, None, None]


def test_lines_and_sets_without_rows_stay() -> None:
    found = compare(PLAN, recorded(GMT, [80.0]))
    assert found.labels == ["gmt", "mean", "gin"]
    assert found.datasets == ("MUTAG", "DD")
    empty = found.scores["gin", "DD"]
    assert (empty.mean, empty.runs, empty.asked) == (None, 0, 4)
    assert empty.paper is not None
    assert found.metrics == {"MUTAG": "accuracy"}
    assert not found.scores["gmt", "MUTAG"].verdict.comparable, "alone is not best"


def test_counts_and_ranks_over_the_sets_that_all_have() -> None:
    rows = [
        *recorded(GMT, [80.0], [81.0]), *recorded(MEAN, [60.0], [61.0]),
        *recorded(GMT_DD, [70.0], [71.0]), *recorded(MEAN_DD, [70.5], [71.2]),
        *recorded(GIN, [10.0], [11.0]),
    ]  # fmt: skip
    found = compare(PLAN, rows)
    assert found.ranked_on == ("MUTAG",)
    assert found.ranks == {"gmt": 1.0, "mean": 2.0, "gin": 3.0}
    gmt, mean, gin = found.standings
    assert (gmt.best, mean.best, gin.best) == ((2, 2), (1, 2), (0, 1))
    assert (gmt.paper, mean.paper, gin.paper) == ("10/10", "3/10", "2/10")
    assert found.critical_difference is None
    assert found.friedman is None


def test_a_line_without_any_score_does_not_hinder_ranks() -> None:
    rows = [
        row for cell in (GMT, GMT_DD, MEAN, MEAN_DD) for row in recorded(cell, [80.0], [81.0])
    ]  # fmt: skip
    found = compare(PLAN, rows)
    assert found.ranked_on == ("MUTAG", "DD")
    assert found.ranks == {"gmt": 1.5, "mean": 1.5}
    assert found.standings[2].rank is None


def test_of_errors_the_lowest_is_best() -> None:
    rows = [
        row
        for cell, scores in ((GMT, (0.5, 0.6)), (MEAN, (5.0, 5.1)))
        for row in recorded(cell, *[[s] for s in scores], metric="rmse")
    ]
    found = compare(PLAN, rows)
    assert found.scores["gmt", "MUTAG"].verdict.comparable
    assert found.ranks == {"gmt": 1.0, "mean": 2.0}


def test_validation_scores() -> None:
    rows = recorded(GMT, [80.0], [81.0], valid=90.0)
    assert compare(replace(PLAN, part="valid"), rows).scores["gmt", "MUTAG"].mean == 90.0


def test_undefined_scores_are_runs_without_a_value() -> None:
    score = compare(PLAN, recorded(GMT, [None, 80.0], [None, None])).scores["gmt", "MUTAG"]
    assert (score.runs, score.scores) == (4, (80.0,))


@pytest.mark.parametrize(
    ("paper", "line", "dataset", "mean", "std"),
    [
        ("test", Line("gmt", "gmt", {}), "MUTAG", 83.44, 1.33),
        ("test", Line("GIN", "mean", {"conv": "gin"}), "MUTAG", 81.39, 1.53),
        ("test", Line("mine", "gmt", {"num_heads": 9}), "MUTAG", None, None),
        ("valid", Line("GMT", "gmt", {}), "MUTAG", 91.0, 0.82),
        ("ablation", Line("without self-attention", "gmt", {"blocks": "x"}), "DD", 75.13, None),
        ("ablation", Line("mean pooling", "mean", {}), "DD", 72.05, None),
        ("ablation", Line("GMT", "gmt", {}), "MUTAG", None, None),
        ("leaderboard", Line("GCN", "mean", {}), "ogbg-molhiv", 76.06, 0.97),
        ("leaderboard", Line("GIN", "gin", {}), "ogbg-moltox21", 74.91, 0.51),
        (None, Line("gmt", "gmt", {}), "MUTAG", None, None),
    ],
)
def test_the_paper_beside(
    paper: str | None, line: Line, dataset: str, mean: float | None, std: float | None
) -> None:
    found = compare(plan((line,), (dataset,), paper=paper), [])
    published = found.scores[line.label, dataset].paper
    assert (published and published.mean, published and published.std) == (mean, std)


def test_a_whole_table_of_scores_like_the_paper() -> None:
    found = compare(*like_the_paper())
    assert found.ranked_on == ("MUTAG", "ogbg-molbbbp", "IMDB-BINARY", "IMDB-MULTI")
    assert min(found.ranks, key=found.ranks.__getitem__) == "gmt"
    assert found.critical_difference == pytest.approx(9.92, abs=0.01)
    for standing in found.standings:
        assert standing.best is not None
        assert standing.best_corrected is not None
        assert standing.best_corrected >= standing.best
        assert standing.best[1] == len(PAPER["test"][standing.method])
