from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import CATALOGUE
from gmpool.engine.cell import Cell, Line
from gmpool.engine.expected import Expected, expected

HERE = "a CPU"
CELL = Cell(Line("gmt", "gmt", {}), "MUTAG", ModelConfig(), TrainConfig(epochs=100), (42, 43), 10)


def row(cell: Cell = CELL, **values: Any) -> dict[str, Any]:
    return {
        "task": "classify",
        "dataset": cell.dataset,
        "method": cell.model.method,
        "seed": 42,
        "fold": 1,
        "config": {"model": asdict(cell.model), "train": asdict(cell.train)},
        "data_digest": CATALOGUE[cell.dataset].content,
        "seconds": 8.0,
        "device": HERE,
        **values,
    }


def of(*rows: dict[str, Any], cell: Cell = CELL) -> Expected:
    (found,) = expected([cell], rows, HERE)
    assert found.to_do + found.recorded == cell.runs
    return found


def test_nothing_recorded() -> None:
    found = of()
    assert (found.recorded, found.to_do, found.seconds, found.rough) == (0, 20, None, False)


def test_runs_with_the_same_settings() -> None:
    found = of(row(), row(fold=2, seconds=12.0), row(seed=99, seconds=13.0))
    assert (found.recorded, found.to_do) == (2, 18)
    assert (found.seconds, found.rough) == (18 * 11.0, False)


def test_runs_that_are_done_at_a_time_share_it() -> None:
    (found,) = expected([CELL], [row()], HERE, workers=4)
    assert found.seconds == 19 * 8.0 / 4
    (few,) = expected([replace(CELL, seeds=(42,), folds=2)], [row()], HERE, workers=4)
    assert few.seconds == 8.0


def test_another_device_says_nothing_of_time() -> None:
    found = of(row(device="a GPU"))
    assert (found.recorded, found.seconds) == (1, None)
    assert of(row(device="a GPU"), row(fold=2)).seconds == 18 * 8.0


def test_another_method_or_task_says_nothing() -> None:
    assert of(row(method="mean")).seconds is None
    assert of(row(task="cluster")).seconds is None


def test_runs_with_other_settings_on_the_set_are_scaled_by_epochs() -> None:
    shorter = replace(CELL, train=TrainConfig(epochs=10))
    found = of(row(shorter))
    assert (found.recorded, found.seconds, found.rough) == (0, pytest.approx(20 * 80.0), True)


def test_runs_on_other_sets_are_scaled_by_nodes() -> None:
    elsewhere = replace(CELL, dataset="IMDB-BINARY")
    found = of(row(elsewhere), row(dataset="a set of somebody's"))
    assert found.seconds == pytest.approx(20 * 8.0 * (188 * 17.93) / (1000 * 19.77))
    assert (found.recorded, found.rough) == (0, True)
    assert of(row(elsewhere), row(seconds=3.0)).seconds == 19 * 3.0, "the set itself tells more"


def test_nothing_left_takes_no_time() -> None:
    cell = replace(CELL, seeds=(42,), folds=1)
    found = of(row(device="a GPU"), cell=cell)
    assert (found.recorded, found.to_do, found.seconds, found.rough) == (1, 0, 0.0, False)
