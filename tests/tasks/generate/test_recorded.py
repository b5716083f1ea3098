from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from generation_rows import bare_row, cell, generation_row

from gmpool.errors import StoreError, UserError
from gmpool.tasks.generate.recorded import Run, last_common, lines_by_set, require_runs


def test_scores_of_a_run() -> None:
    run = Run.of(generation_row("mean", {"strict": [0.0, 30.0, 10.0], "unique": [None, 50.0, 4.0]}))
    assert (run.at("strict", 1000), run.at("strict", 1499), run.at("strict", 9999)) == (30, 30, 10)
    assert math.isnan(run.at("strict", 499))
    assert math.isnan(run.at("unique", 500))
    assert run.average("strict", 1000) == 15.0
    assert run.average("unique", 1500) == 27.0, "of those that are there"
    assert math.isnan(run.average("unique", 500))
    assert (run.highest("strict", 500), run.highest("strict", 1500)) == (0.0, 30.0)


def test_runs_by_seed_and_rows_that_have_no_part() -> None:
    def row(seed: int, strict: float) -> Any:
        return generation_row("mean", {"strict": [strict, strict]}, seed=seed)

    rows = [row(2, 5.0), row(1, 7.0), row(2, 9.0), bare_row("mean", 3, drawn={})]
    (line,) = lines_by_set([cell("mean", rows, asked=4, left_out=2)])["QM9"]
    assert [(run.seed, run.at("strict", 1000)) for run in line.runs] == [(1, 7.0), (2, 5.0)]
    assert (line.unscored, line.left_out, line.asked) == (1, 2, 4)


def test_the_last_iteration_of_all() -> None:
    short = generation_row("mean", {"strict": [1.0, 2.0]})
    long = generation_row("max", {"strict": [1.0, 2.0, 3.0]})
    lines = lines_by_set([cell("a", [short]), cell("b", [long])])["QM9"]
    assert last_common(lines) == 1000


def test_nothing_to_show() -> None:
    with pytest.raises(UserError, match="gmpool generate train or gmpool run molgan records some"):
        require_runs({})
    waiting = lines_by_set([cell("mean", [bare_row("mean", drawn={})])])
    with pytest.raises(UserError, match=r"none of the recorded runs \(1\) .*gmpool\[chem\]"):
        require_runs(waiting)


@pytest.mark.parametrize(
    "change",
    [
        {"strict": None}, {"strict": [1.0]}, {"strict": [1.0, "x"]}, {"strict": [1.0, True]},
        {"iteration": []}, {"iteration": [1000, 500]}, {"iteration": [500, 1000.5]},
    ],
)  # fmt: skip
def test_a_changed_row_is_named(change: dict[str, Any]) -> None:
    row = generation_row("mean", {"strict": [1.0, 2.0]})
    changed = replace(row, more={"generated": {**row.more["generated"], **change}})
    with pytest.raises(StoreError, match=r"the recorded row QM9 mean \[\] 42 cannot be used"):
        Run.of(changed)
    with pytest.raises(StoreError):
        Run.of(replace(row, more={"generated": []}))
