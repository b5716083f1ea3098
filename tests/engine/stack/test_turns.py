"""Replicas in one program give what they give alone."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import pytest
import torch
from small_sets import MODEL, QUICK, classes, split, with_labels
from torch import Tensor
from twenty_steps import assert_twenty_steps_are_those_of_each_alone, splits

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import GraphBatch
from gmpool.data.fixed_batch import Bounds, FixedBatches
from gmpool.engine.stack import program
from gmpool.engine.stack.shuffles import Shuffles
from gmpool.engine.stack.stack import EPOCHS_AHEAD, NODES_LIKE_MAKING, Run, Stack
from gmpool.engine.stack.turns import cannot_stack, train_stacked
from gmpool.engine.train import Trained, first_model, train
from gmpool.errors import UserError
from gmpool.pool import METHODS

STACKED = [name for name in METHODS if METHODS[name].fixed_shapes]


@pytest.mark.parametrize("method", STACKED)
def test_twenty_steps_in_float64_are_those_of_each_alone(method: str) -> None:
    """Losses to 1e-5; every replica has a rate, decay, clip and split of its own."""
    configs = [
        TrainConfig(lr=5e-3, epochs=20, warmup_epochs=2, batch_size=8),
        TrainConfig(lr=1e-3, epochs=9, warmup_epochs=1, batch_size=8, weight_decay=0.01),
        TrainConfig(lr=2e-2, epochs=30, warmup_epochs=0, batch_size=8, clip_norm=0.1),
    ]
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, dropout=0.0)
    assert_twenty_steps_are_those_of_each_alone(classes(), splits(3), config, configs)


@pytest.mark.parametrize(
    ("method", "select_by"),
    [("gmt", "loss"), ("gmt", "metric"), ("topk", "loss"), ("sagpool", "loss")],
)
def test_a_whole_training_with_dropout_and_early_stopping(method: str, select_by: str) -> None:
    graphs = classes()
    runs = [
        Run(
            part,
            replace(MODEL, method=method, dropout=0.2 * k),
            replace(QUICK, epochs=25, patience=2 + k, lr=0.02, select_by=select_by),
            seed=k,
        )
        for k, part in enumerate(splits(4))
    ]
    together = train_stacked(graphs, runs, metric="accuracy")
    lengths = set()
    for run, found in zip(runs, together, strict=True):
        alone = train(graphs, run.split, run.model, run.train, metric="accuracy", seed=run.seed)
        assert isinstance(found, Trained)
        assert found.replicas == 4
        assert [e.epoch for e in found.curve] == [e.epoch for e in alone.curve]
        for a, b in zip(found.curve, alone.curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-4)
            assert a.valid_metric == b.valid_metric
        assert found.best.epoch == alone.best.epoch
        assert found.test_metric == alone.test_metric
        assert found.test_loss == pytest.approx(alone.test_loss, rel=1e-4)
        lengths.add(len(found.curve))
    assert len(lengths) > 1, "the replicas stop at different epochs, or this tests nothing"


@pytest.mark.parametrize(("task", "metric"), [("regression", "rmse"), ("binary", "roc_auc")])
def test_labels_that_are_missing(task: str, metric: str) -> None:
    y = torch.arange(48.0).view(24, 2).remainder(2 if task == "binary" else 7)
    y[1::2] = 1 - y[1::2]
    y[3, 0] = y[20, 1] = float("nan")
    graphs = with_labels(y, task)
    runs = [Run(split(), MODEL, QUICK, seed) for seed in range(2)]
    for run, found in zip(runs, train_stacked(graphs, runs, metric=metric), strict=True):
        alone = train(graphs, run.split, MODEL, QUICK, metric=metric, seed=run.seed)
        assert isinstance(found, Trained)
        assert found.test_metric == pytest.approx(alone.test_metric, rel=1e-4, nan_ok=True)
        assert [e.valid_loss for e in found.curve] == pytest.approx(
            [e.valid_loss for e in alone.curve], rel=1e-4
        )


def test_one_that_diverges_does_not_hurt_the_others() -> None:
    graphs = classes()
    good = replace(QUICK, epochs=6)
    bad = replace(good, lr=1e30, clip_norm=1e30)
    runs = [Run(split(), MODEL, config, seed=1) for config in (good, bad, good)]
    first, failed, last = train_stacked(graphs, runs, metric="accuracy")
    assert isinstance(failed, UserError)
    assert "try a smaller lr than 1e+30" in str(failed)
    alone = train(graphs, split(), MODEL, good, metric="accuracy", seed=1)
    for found in (first, last):
        assert isinstance(found, Trained)
        assert found.test_loss == pytest.approx(alone.test_loss, rel=1e-4)


def test_a_stack_shrinks_when_the_stopped_have_cost_as_much_as_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configs = [replace(QUICK, epochs=epochs, patience=None) for epochs in (1, 500)]
    runs = [Run(part, MODEL, c, seed=1) for part, c in zip(splits(2), configs, strict=True)]
    graphs = classes()
    idle = int(2.5 * EPOCHS_AHEAD)  # between those after two and after three times so many epochs
    monkeypatch.setitem(NODES_LIKE_MAKING, "cpu", idle * graphs.num_nodes)
    stack = Stack(graphs, runs, "accuracy")
    epochs = stack.run(None)
    for number in range(3 * EPOCHS_AHEAD):
        assert next(epochs) == []
        assert stack.idle == number, "since the first epoch"
    assert stack.alive == [0, 1]
    assert stack.running == [1]
    assert [number for number, _ in next(epochs)] == [0]
    assert stack.alive == [1]
    assert stack.idle == 0


@pytest.mark.parametrize(("built_for", "driver", "may"), [
    ("13.0", 13000, True), ("12.6", 12030, True), ("12.6", 12020, False), (None, 13000, False)
])  # fmt: skip
def test_which_drivers_load_a_kernel_during_a_capture(
    built_for: str | None, driver: int, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Library:
        def __init__(self, name: str) -> None:
            assert name == "libcuda.so.1"

        def cuDriverGetVersion(self, version: ctypes._CArgObject) -> None:
            ctypes.cast(version, ctypes.POINTER(ctypes.c_int))[0] = driver

    monkeypatch.setattr(torch.version, "cuda", built_for)
    monkeypatch.setattr(program.ctypes, "CDLL", Library)
    monkeypatch.setattr(program.sys, "platform", "linux")
    assert program.loads_while_capturing.__wrapped__() is may


@pytest.mark.parametrize(("task", "models"), [("binary", 2), ("regression", 3)])
def test_who_begins_alike_is_made_once(task: str, models: int) -> None:
    """But in regression, where a model knows its training labels."""
    graphs = with_labels(torch.arange(24.0).remainder(2)[:, None], task)
    runs = [Run(p, MODEL, QUICK, seed) for p, seed in zip(splits(3), (1, 1, 2), strict=True)]
    stack = Stack(graphs, runs, "rmse" if task == "regression" else "roc_auc")
    assert len(stack.models) == models
    alone = [first_model(graphs, run.split, run.model, run.seed) for run in runs]
    rows = torch.stack([stack.program.replicas.as_row(model) for model in alone])
    assert torch.equal(stack.program.replicas.weights, rows)


def test_what_cannot_be_one_program() -> None:
    graphs = classes()
    assert cannot_stack(graphs, replace(MODEL, method="asap"))
    assert cannot_stack(graphs, replace(MODEL, method="structpool", pool={"hops": 2}))
    assert cannot_stack(graphs, MODEL) is None
    wide = replace(MODEL, hidden_dim=16)
    with pytest.raises(UserError, match="one architecture and one batch size"):
        train_stacked(graphs, [Run(split(), m, QUICK, 0) for m in (MODEL, wide)], metric="accuracy")
    asap = replace(MODEL, method="asap")
    with pytest.raises(UserError, match="cannot be stacked; train one run at a time"):
        train_stacked(graphs, [Run(split(), asap, QUICK, 0)], metric="accuracy")


def test_a_fixed_batch_is_the_batch() -> None:
    """Whatever room is left: the same nodes, edges and labels, and nothing else."""
    graphs = classes()
    batches = FixedBatches(graphs, plain=True)
    ids = torch.tensor([[3, 0, 17, 5], [9, 2, batches.empty, batches.empty]])
    needed = batches.bounds(ids)
    for bounds in (needed, Bounds(*(n + 13 for n in needed))):
        made = batches.make(ids, bounds)
        for r in range(2):
            plain = GraphBatch(graphs, ids[r][ids[r] != batches.empty])
            N = plain.num_nodes
            assert torch.equal(made.x[r, :N], plain.x)
            assert made.x[r, N:].eq(0).all()
            assert torch.equal(made.batch[r, :N], plain.batch)
            assert made.batch[r, N:].eq(4).all()
            assert made.real[r].tolist() == [float(i != batches.empty) for i in ids[r]] + [0.0]
            for fixed, csr in ((made.graph, plain.graph), (made.gcn, plain.gcn)):
                assert fixed is not None
                E = csr.col.shape[0]
                assert torch.equal(fixed.rowptr[r, :N], csr.rowptr[:N].long())
                assert fixed.rowptr[r, N] == E
                assert torch.equal(fixed.col[r, :E], csr.col.long())
                assert (fixed.rowptr[r].diff() >= 0).all()
                assert fixed.col[r, E:].ge(N).all()
                if csr.weight is not None:
                    assert fixed.weight is not None
                    assert torch.equal(fixed.weight[r, :E], csr.weight)
                    assert fixed.weight[r, E:].eq(0).all()


def test_shuffles_are_those_of_each_alone() -> None:
    parts: list[Tensor] = [torch.arange(5), torch.arange(10, 21)]
    full, last = Shuffles(parts, [4, 5], 4).draw(3, empty=99)
    assert full.shape == (2, 6, 4)
    assert last.shape == (2, 3, 3)
    for r, part in enumerate(parts):
        generator = torch.Generator().manual_seed(4 + r)
        for epoch in range(3):
            order = part[torch.randperm(len(part), generator=generator)]
            drawn = torch.cat([full[r, 2 * epoch], full[r, 2 * epoch + 1], last[r, epoch]])
            assert torch.equal(drawn[drawn != 99], order)
