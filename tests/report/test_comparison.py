from __future__ import annotations

import statistics

import pytest
from comparison_cells import PAPER, compared, empty, filled, like_the_paper

from gmpool.errors import UserError
from gmpool.report.comparison import Cell

CELLS = empty(("gmt", "mean", "gin"))
GMT, GMT_DD, MEAN, MEAN_DD, GIN, GIN_DD = CELLS


def test_a_complete_cell() -> None:
    cell = filled(GMT, [80.0, 90.0], [82.0, 84.0], seconds=10.0)
    score = compared(CELLS, cell).scores["gmt", "MUTAG"]
    assert score.scores == (85.0, 83.0)
    assert (score.mean, score.std) == (84.0, pytest.approx(statistics.stdev([85.0, 83.0])))
    assert (score.runs, score.asked, score.incomplete, score.over) == (4, 4, False, "seeds")
    assert (score.parameters, score.seconds) == (12345, 40.0)
    assert score.paper is not None
    assert score.difference == pytest.approx(84.0 - 83.44)


def test_one_seed_is_incomplete_over_folds_and_without_test() -> None:
    one, two = filled(GMT, [80.0, 90.0]), filled(MEAN, [60.0, 62.0], [61.0, 63.0])
    found = compared(CELLS, one, two)
    score = found.scores["gmt", "MUTAG"]
    assert (score.scores, score.over, score.incomplete) == ((80.0, 90.0), "folds", True)
    assert (score.verdict.comparable, score.tested) == (True, False)
    assert found.scores["mean", "MUTAG"].verdict.comparable is False
    assert [s.best for s in found.standings] == [None, None, None]


def test_lines_and_sets_without_rows_stay() -> None:
    found = compared(CELLS, filled(GMT, [80.0]))
    assert found.labels == ["gmt", "mean", "gin"]
    assert found.datasets == ("MUTAG", "DD")
    empty = found.scores["gin", "DD"]
    assert (empty.mean, empty.runs, empty.asked) == (None, 0, 4)
    assert empty.paper is not None
    assert found.metrics == {"MUTAG": "accuracy"}
    assert not found.scores["gmt", "MUTAG"].verdict.comparable, "alone is not best"


def test_counts_and_ranks_over_the_sets_that_all_have() -> None:
    found = compared(
        CELLS,
        filled(GMT, [80.0], [81.0]), filled(MEAN, [60.0], [61.0]),
        filled(GMT_DD, [70.0], [71.0]), filled(MEAN_DD, [70.5], [71.2]),
        filled(GIN, [10.0], [11.0]),
    )  # fmt: skip
    assert found.ranked_on == ("MUTAG",)
    assert found.ranks == {"gmt": 1.0, "mean": 2.0, "gin": 3.0}
    gmt, mean, gin = found.standings
    assert (gmt.best, mean.best, gin.best) == ((2, 2), (1, 2), (0, 1))
    assert (gmt.paper, mean.paper, gin.paper) == ("10/10", "3/10", "2/10")
    assert found.critical_difference is None
    assert found.friedman is None


def test_a_line_without_any_score_does_not_hinder_ranks() -> None:
    known = [filled(cell, [80.0], [81.0]) for cell in (GMT, GMT_DD, MEAN, MEAN_DD)]
    found = compared(CELLS, *known)
    assert found.ranked_on == ("MUTAG", "DD")
    assert found.ranks == {"gmt": 1.5, "mean": 1.5}
    assert found.standings[2].rank is None


def test_of_errors_the_lowest_is_best() -> None:
    found = compared(
        CELLS,
        filled(GMT, [0.5], [0.6], metric="rmse"),
        filled(MEAN, [5.0], [5.1], metric="rmse"),
    )
    assert found.scores["gmt", "MUTAG"].verdict.comparable
    assert found.ranks == {"gmt": 1.0, "mean": 2.0}


def test_validation_scores() -> None:
    cell = filled(GMT, [80.0], [81.0], valid=90.0)
    assert compared(CELLS, cell, part="valid").scores["gmt", "MUTAG"].mean == 90.0


def test_undefined_scores_are_runs_without_a_value() -> None:
    score = compared(CELLS, filled(GMT, [None, 80.0], [None, None])).scores["gmt", "MUTAG"]
    assert (score.runs, score.scores) == (4, (80.0,))


@pytest.mark.parametrize(
    ("paper", "line", "dataset", "mean", "std"),
    [
        ("test", ("gmt", "gmt", False), "MUTAG", 83.44, 1.33),
        ("test", ("GIN", "mean", True), "MUTAG", 81.39, 1.53),
        ("test", ("mine", "gmt", True), "MUTAG", None, None),
        ("valid", ("GMT", "gmt", False), "MUTAG", 91.0, 0.82),
        ("ablation", ("without self-attention", "gmt", True), "DD", 75.13, None),
        ("ablation", ("mean pooling", "mean", False), "DD", 72.05, None),
        ("ablation", ("GMT", "gmt", False), "MUTAG", None, None),
        ("leaderboard", ("GCN", "mean", False), "ogbg-molhiv", 76.06, 0.97),
        ("leaderboard", ("GIN", "gin", False), "ogbg-moltox21", 74.91, 0.51),
        (None, ("gmt", "gmt", False), "MUTAG", None, None),
    ],
)
def test_the_paper_beside(
    paper: str | None,
    line: tuple[str, str, bool],
    dataset: str,
    mean: float | None,
    std: float | None,
) -> None:
    label, method, changed = line
    found = compared([Cell(label, method, dataset, 4, [], changed=changed)], paper=paper)
    published = found.scores[label, dataset].paper
    assert (published and published.mean, published and published.std) == (mean, std)


def test_a_whole_table_of_scores_like_the_paper() -> None:
    found = like_the_paper()
    assert found.ranked_on == ("MUTAG", "ogbg-molbbbp", "IMDB-BINARY", "IMDB-MULTI")
    assert min(found.ranks, key=found.ranks.__getitem__) == "gmt"
    assert found.critical_difference == pytest.approx(9.92, abs=0.01)
    for standing in found.standings:
        assert standing.best is not None
        assert standing.best_corrected is not None
        assert standing.best_corrected >= standing.best
        assert standing.best[1] == len(PAPER["test"][standing.method])


def test_the_rows_that_are_counted_stay_at_hand() -> None:
    gmt, mean = filled(GMT, [80.0]), filled(MEAN_DD, [70.0], [71.0])
    assert compared(CELLS, gmt, mean).rows == [*gmt.rows, *mean.rows]


def test_a_metric_that_is_not_known_is_named() -> None:
    cells = [filled(cell, [0.5], [0.6], metric="rsme") for cell in (GMT, MEAN)]
    with pytest.raises(UserError, match="unknown metric 'rsme'; did you mean 'rmse'"):
        compared(CELLS, *cells)
