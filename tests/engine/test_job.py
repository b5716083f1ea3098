"""Jobs and their runs: what is asked for, and which rows are of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_jobs import job
from small_sets import dataset

from gmpool.data import generate
from gmpool.engine.executors.executor import Alone
from gmpool.engine.job import Job, Recorded, key_of, settings_by
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.record import Row


def test_runs_come_seed_by_seed_each_with_a_key_of_its_own() -> None:
    runs = job(folds=2, seeds=2).runs
    assert [(run.seed, run.fold) for run in runs] == [(42, 1), (42, 2), (43, 1), (43, 2)]
    assert len({run.key for run in runs}) == 4
    more = job(folds=3, seeds=1).runs
    assert more[:2] == runs[:2], "how many are asked for is no part of a run"
    assert [len(job().split(run).test) for run in more] == [8, 8, 8]


def test_another_option_is_another_run_and_a_default_is_none() -> None:
    keys = [run.key for run in job().runs]
    assert [run.key for run in job(dropout=0.5).runs] == keys, "the default, said aloud"
    for options in ({"num_heads": 1}, {"lr": 0.1}, {"hidden_dim": 16}, {"select_by": "metric"}):
        assert not {run.key for run in job(**options).runs} & set(keys), options


def test_settings_are_what_is_not_the_default() -> None:
    made = job("mean", lr=0.25)
    assert made.settings == {
        "method": "mean", "hidden_dim": 8, "num_layers": 1, "train.epochs": 3, "train.lr": 0.25,
        "train.warmup_epochs": 1, "train.batch_size": 8,
    }  # fmt: skip
    assert settings_by(made.task, made.config) == made.settings
    assert job(num_heads=2).settings["pool.num_heads"] == 2


@pytest.mark.parametrize("folds", [0, 4, -1])
def test_folds_out_of_range(folds: int) -> None:
    with pytest.raises(UserError, match=rf"shapes has 3 folds, .* from 1 to 3, got {folds}"):
        job(folds=folds)


def test_no_seed() -> None:
    with pytest.raises(UserError, match="seeds must be at least 1, got 0"):
        job(seeds=0)


def test_a_set_without_folds_says_what_it_lacks() -> None:
    with pytest.raises(UserError, match=r"no folds to train on: it needs labels and at least 3"):
        job(data=replace(dataset(), folds=(), metric=None))


def test_a_set_without_labels_is_not_trained_on() -> None:
    with pytest.raises(
        UserError, match=r"ring has no labels to train on; .* gmpool reconstruct ring"
    ):
        Job.make("classify", generate("ring"), "gmt")


def test_an_unknown_option_and_an_unknown_method() -> None:
    with pytest.raises(UserError, match="unknown option 'hidden'; did you mean 'hidden_dim'"):
        job(hidden=8)
    with pytest.raises(UserError, match="unknown method 'gtm'; did you mean 'gmt'"):
        job("gtm")


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    return run_jobs([job()], RunStore(tmp_path), Alone())


def test_a_row_has_the_key_of_its_run(rows: list[Row], tmp_path: Path) -> None:
    read = list(RunStore(tmp_path))
    assert read == rows
    for row, run in zip(read, job().runs, strict=True):
        assert key_of(row) == row.key == run.key


def test_a_setting_that_a_row_is_too_old_to_have_is_the_default(rows: list[Row]) -> None:
    row = rows[0]
    older = {k: v for k, v in row.train.items() if k != "select_by"}
    assert key_of(replace(row, config={**row.config, "train": older})) == row.key


def test_which_rows_are_of_a_job(rows: list[Row]) -> None:
    assert Recorded([*rows, *rows]).of(job()) == rows, "each counts once"
    assert Recorded(rows).of(job(folds=1)) == [rows[0], rows[2]]
    assert Recorded(rows).of(job(lr=1.0)) == []
    assert Recorded(rows).of(job("mean")) == []
    assert Recorded(rows).of_method(job(lr=1.0)) == rows
    assert Recorded(rows).of_method(job("mean")) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 44},
        {"task": "reconstruct"},
        {"data_digest": "other"},
        {"split_digest": "other"},
        {"config": {"model": {"method": "gmt", "pool": {}}, "train": {"lr": 1.0}}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_rows_of_another_run_have_another_key(changes: dict, rows: list[Row]) -> None:
    other = replace(rows[0], **changes)
    assert key_of(other) != rows[0].key


def test_what_is_left_out_is_on_other_data_of_the_same_name(rows: list[Row]) -> None:
    old = [replace(row, key=f"old {row.key}", data_digest="before") for row in rows]
    found = Recorded([*rows, *old])
    assert found.of(job()) == rows
    assert found.left_out(job()) == 4
    assert found.left_out(job(folds=1)) == 2
    assert found.left_out(job(lr=1.0)) == 0, "those have other settings"
    assert Recorded(rows).left_out(job()) == 0
