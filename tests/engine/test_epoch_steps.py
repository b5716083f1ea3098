"""Epochs of so many steps, on examples that are drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from few_molecules import few_molecules
from small_jobs import job
from small_sets import MODEL, QUICK, classes, dataset, split
from torch import Tensor
from trainings import alone, as_set, begun, stacked

from gmpool.config import TrainConfig, check_training
from gmpool.data import Dataset, GraphBatch
from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job, key_of
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.shuffles import Shuffles
from gmpool.engine.store import RunStore
from gmpool.engine.train import Trained
from gmpool.engine.training import examples_of
from gmpool.errors import UserError

STEPS = replace(QUICK, epoch_steps=5, batch_size=4, epochs=3)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The examples of each batch that a training alone has made of its training part."""
    found: list[list[int]] = []
    batches = Dataset.batches

    def spied(self: Dataset, ids: Tensor, size: int, *more: Any) -> Iterator[GraphBatch]:
        if len(ids) == examples_of(STEPS, split()):
            found.extend(part.tolist() for part in torch.as_tensor(ids).split(size))
        return batches(self, ids, size, *more)

    monkeypatch.setattr(Dataset, "batches", spied)
    return found


def test_an_epoch_has_so_many_full_batches_of_the_training_part(seen: list[list[int]]) -> None:
    trained = alone(classes(), Member(split(), MODEL, STEPS, 7))
    assert len(trained.curve) == 3
    assert [len(batch) for batch in seen] == [4] * 15
    drawn = [number for batch in seen for number in batch]
    assert {*drawn} <= set(split().train.tolist())
    assert any(len({*drawn[at : at + 20]}) < 12 for at in (0, 20, 40)), "with replacement"
    assert drawn[:20] != drawn[20:40], "others in every epoch"


def test_the_draws_depend_on_the_seed_alone(seen: list[list[int]]) -> None:
    for seed in (7, 8, 7):
        alone(classes(), Member(split(), MODEL, STEPS, seed))
    first, second, third = seen[:15], seen[15:30], seen[30:]
    assert first == third
    assert first != second


def test_a_stack_draws_the_same_ones(seen: list[list[int]]) -> None:
    seeds, part = (7, 8), split().train
    for seed in seeds:
        alone(classes(), Member(split(), MODEL, STEPS, seed))
    shuffles = Shuffles([part, part], seeds, 4, epoch_steps=5)
    assert shuffles.steps.tolist() == [5, 5]
    full, last = shuffles.draw(2, empty=99)
    assert last.shape == (2, 0, 4), "no epoch ends with a smaller batch"
    rest, _ = shuffles.draw(1, empty=99)
    found = torch.cat([full, rest], dim=1)
    assert found.tolist() == [seen[:15], seen[15:]]


def test_the_training_loss_is_the_mean_over_the_batches(seen: list[list[int]]) -> None:
    """Found again with a model that all but stands still."""
    member = Member(split(), MODEL, replace(STEPS, lr=1e-20, epochs=1, warmup_epochs=0), 7)
    trained = alone(classes(), member)
    model, data = begun(classes(), split(), MODEL, 7), as_set(classes())
    losses = [
        float(model.loss(next(data.batches(torch.tensor(ids), 4)), model.phases[0]).detach())
        for ids in seen
    ]
    assert len(losses) == 5
    assert trained.curve[0].train_loss == pytest.approx(sum(losses) / 5, rel=1e-6)


@pytest.mark.parametrize("epoch_steps", [1, 2, 7])
def test_alone_and_stacked_have_equal_losses(epoch_steps: int) -> None:
    """Also in epochs longer than the set, and with parts of other sizes."""
    small, large = split(), replace(split(), train=split().train[:5])
    config = replace(STEPS, epoch_steps=epoch_steps)
    members = [Member(small, MODEL, config, 7), Member(large, MODEL, config, 8)]
    together = stacked(classes(), members)
    for member, mine in zip(members, together, strict=True):
        single = alone(classes(), member)
        assert isinstance(mine, Trained)
        for theirs, ours in zip(single.curve, mine.curve, strict=True):
            assert ours.train_loss == pytest.approx(theirs.train_loss, rel=1e-5)
            assert ours.valid_loss == pytest.approx(theirs.valid_loss, rel=1e-5)


def test_stacks_of_other_lengths_are_refused() -> None:
    others = [STEPS, replace(STEPS, epoch_steps=6)]
    members = [Member(split(), MODEL, config, 7) for config in others]
    with pytest.raises(UserError, match="the runs of a stack must have one architecture and one"):
        stacked(classes(), members)


def test_rows_of_a_classification_alone_and_stacked(tmp_path: Path) -> None:
    todo = [job("mean", epoch_steps=4, seeds=2, folds=1)]
    alone = run_jobs(todo, RunStore(tmp_path / "alone"), Alone())
    together = run_jobs(todo, RunStore(tmp_path / "stacked"), Stacked(replicas=2))
    for mine, theirs in zip(together, alone, strict=True):
        assert (mine.key, mine.replicas, theirs.replicas) == (theirs.key, 2, 1)
        assert mine.train["epoch_steps"] == 4
        assert len(mine.curve["train_loss"]) == 3
        for name in ("train_loss", "valid_loss"):
            assert mine.curve[name] == pytest.approx(theirs.curve[name], rel=1e-4)


@pytest.mark.parametrize("value", [0, -1])
def test_a_value_below_one_is_refused(value: int) -> None:
    said = f"option epoch_steps must be at least 1, got {value}"
    with pytest.raises(UserError, match=said):
        check_training(replace(TrainConfig(), epoch_steps=value))
    with pytest.raises(UserError, match=said):
        job("mean", epoch_steps=value)
    with pytest.raises(UserError, match=said):
        Job.make("generate", few_molecules(), "mean", options={"epoch_steps": value})


def test_a_molgan_has_epochs_of_so_many_iterations_and_no_others() -> None:
    with pytest.raises(UserError, match="epoch_steps must be a number: an epoch of a MolGAN is so"):
        Job.make("generate", few_molecules(), "mean", options={"epoch_steps": "none"})
    made = Job.make("generate", few_molecules(), "mean")
    assert made.train.epoch_steps == 500
    asked = Job.make("generate", few_molecules(), "mean", options={"epoch_steps": 500})
    assert [run.key for run in asked.runs] == [run.key for run in made.runs]


def test_one_pass_changes_no_key(tmp_path: Path) -> None:
    """Rows from before there was such a setting keep theirs."""
    data = dataset()
    plain, asked, other = (
        job("mean", data, seeds=1, folds=1, **more)
        for more in ({}, {"epoch_steps": "none"}, {"epoch_steps": 3})
    )
    assert plain.runs == asked.runs
    assert plain.runs[0].key != other.runs[0].key
    (row,) = run_jobs([plain], RunStore(tmp_path), Alone())
    train = {name: value for name, value in row.train.items() if name != "epoch_steps"}
    assert len(train) == len(row.train) - 1
    old = replace(row, config={**row.config, "train": train})
    assert key_of(old) == row.key
