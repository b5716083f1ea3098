"""Nested cross-validation: what inner folds choose, beside a loop over all outer folds."""

from __future__ import annotations

import random
from typing import Any

import pytest
from report_rows import row, settings

from gmpool.record import Row
from gmpool.report.nested import chosen_by_inner_folds, nested_grid
from gmpool.report.render import FORMS, render


def lines(metric: str = "rmse", folds: int = 4, seeds: int = 2) -> list[tuple[str, str, list[Row]]]:
    draw = random.Random(0)
    return [
        (
            "own",
            label,
            [
                _row(metric, seed, fold, test=draw.uniform(1, 9), valid=draw.uniform(1, 9))
                for seed in range(seeds)
                for fold in range(1, folds + 1)
            ],
        )
        for label in ("one", "two", "three")
    ]


def _row(metric: str, seed: int, fold: int, **values: Any) -> Row:
    config = settings(members=3, members_by="folds")
    return row(seed=seed, fold=fold, metric=metric, dataset="own", config=config, **values)


@pytest.mark.parametrize(("metric", "best"), [("rmse", min), ("roc_auc", max)])
def test_each_outer_fold_takes_the_line_that_is_best_inside(metric: str, best: Any) -> None:
    given = lines(metric)
    (found,) = chosen_by_inner_folds(given)
    assert len(found.rows) == 8
    for at, mine in enumerate(zip(*(rows for *_, rows in given), strict=True)):
        assert found.rows[at] is best(mine, key=lambda one: one.valid)
    assert sum(found.by_line.values()) == 8
    means = [sum(r.test or 0 for r in found.rows if r.seed == seed) / 4 for seed in (0, 1)]
    grid = nested_grid(given)
    assert grid is not None
    assert grid.records[0]["test_mean"] == pytest.approx(sum(means) / 2)
    assert grid.records[0]["runs"] == 8


def test_the_test_part_has_no_say() -> None:
    given = lines()
    (before,) = chosen_by_inner_folds(given)
    other = [
        (name, label, [Row(**{**vars(r), "test": -(r.test or 0)}) for r in rows])
        for name, label, rows in given
    ]
    (after,) = chosen_by_inner_folds(other)
    assert after.by_line == before.by_line


def test_folds_that_not_all_lines_have_done_are_counted() -> None:
    given = lines()
    given[1][2].pop()
    given[2][2][0] = Row(**{**vars(given[2][2][0]), "valid": None})
    (found,) = chosen_by_inner_folds(given)
    assert (len(found.rows), found.left_out) == (6, 2)
    grid = nested_grid(given)
    assert grid is not None
    assert "own: 2 of the runs are left out, which not all lines have done" in grid.notes


def test_one_line_and_members_by_seeds_are_no_choice() -> None:
    assert nested_grid(lines()[:1]) is None
    plain = [("own", label, [row(seed=0, dataset="own")]) for label in ("one", "two")]
    assert nested_grid(plain) is None
    assert nested_grid([("own", "one", [])]) is None


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_it(form: str) -> None:
    grid = nested_grid(lines(seeds=1))
    assert grid is not None
    shown = render(form, [grid], title="mine", command="gmpool train mine.csv")
    assert "own" in shown
    assert f"{grid.records[0]['test_mean']:.2f}" in shown or form in ("csv", "json")
