"""Replicas in one program give what they give alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_sets import MODEL, QUICK, classes, split, with_labels
from torch import Tensor

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import GraphBatch, PackedGraphs, Split
from gmpool.data.fixed import Bounds, FixedBatches
from gmpool.engine.adam import Adam
from gmpool.engine.replicas import Replicas
from gmpool.engine.schedule import cosine_with_warmup
from gmpool.engine.shuffles import Shuffles
from gmpool.engine.stacked import Run, cannot_stack, train_stacked
from gmpool.engine.train import Trained, first_model, train
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.tasks.classify import GraphModel

STACKED = [name for name in METHODS if METHODS[name].fixed_shapes]


def splits(count: int, graphs: int = 24) -> list[Split]:
    """Parts of different sizes, so that epochs have different numbers of steps."""
    ids = torch.arange(graphs)
    return [Split(ids.roll(5 * k)[: 8 + 3 * k], ids[-6:], ids[-9:-3]) for k in range(count)]


def in_doubles(model: GraphModel) -> GraphModel:
    """A model that reads batches of float32 as float64."""
    model = model.double()
    model.register_forward_pre_hook(lambda _, args: (_with_doubles(args[0]),))
    return model


def _with_doubles(batch: GraphBatch) -> GraphBatch:
    batch.x = batch.x.double()
    return batch


@pytest.mark.parametrize("method", STACKED)
def test_twenty_steps_in_float64_are_those_of_each_alone(method: str) -> None:
    """Losses to 1e-5; every replica has a rate, decay, clip and split of its own."""
    graphs, parts = classes(), splits(3)
    configs = [
        TrainConfig(lr=5e-3, epochs=20, warmup_epochs=2, batch_size=8),
        TrainConfig(lr=1e-3, epochs=9, warmup_epochs=1, batch_size=8, weight_decay=0.01),
        TrainConfig(lr=2e-2, epochs=30, warmup_epochs=0, batch_size=8, clip_norm=0.1),
    ]
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, dropout=0.0)
    models = [first_model(graphs, p, config, seed).double() for seed, p in enumerate(parts)]
    batches = FixedBatches(graphs, plain=True)
    batches.x = batches.x.double()
    shuffles = Shuffles([p.train for p in parts], range(3), 8)
    replicas = Replicas(models, torch.device("cpu"))
    adam = Adam.start(replicas.weights, configs, shuffles.steps)
    full, last = shuffles.draw(20, batches.empty)
    steps = int(shuffles.steps.max())
    found: list[list[float]] = [[], [], []]
    for epoch in range(20):
        order = [full[:, epoch * (steps - 1) + s] for s in range(steps - 1)] + [last[:, epoch]]
        for ids in order:
            losses, grads = replicas.gradients(batches.make(ids, batches.bounds(ids)))
            active = (ids != batches.empty).any(1)
            adam.step(replicas.weights, grads, active)
            for r in active.nonzero()[:, 0].tolist():
                found[r].append(float(losses[r]))
    for r, (part, settings) in enumerate(zip(parts, configs, strict=True)):
        alone = _alone(in_doubles(first_model(graphs, part, config, r)), graphs, part, settings, r)
        assert len(found[r]) >= 20
        assert found[r][:20] == pytest.approx(alone[:20], rel=1e-5)


def _alone(
    model: GraphModel, graphs: PackedGraphs, part: Split, config: TrainConfig, seed: int
) -> list[float]:
    """Losses by PyTorch's own optimizer, clipping and scheduler."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    steps = -(-len(part.train) // 8)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: cosine_with_warmup(
            s, warmup=config.warmup_epochs * steps, total=config.epochs * steps
        ),
    )
    generator, losses = torch.Generator().manual_seed(seed), []
    model.train()
    for _ in range(20):
        order = part.train[torch.randperm(len(part.train), generator=generator)]
        for ids in order.split(8):
            batch = GraphBatch(graphs, ids)
            out, auxiliary = model(batch)
            loss = model.loss(out, batch.y) + sum(auxiliary.values())
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("select_by", ["loss", "metric"])
def test_a_whole_training_with_dropout_and_early_stopping(select_by: str) -> None:
    graphs = classes()
    runs = [
        Run(
            part,
            replace(MODEL, dropout=0.2 * k),
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


def test_what_cannot_be_one_program() -> None:
    graphs = classes()
    assert cannot_stack(graphs, replace(MODEL, method="topk"))
    assert cannot_stack(graphs, replace(MODEL, method="structpool", pool={"hops": 2}))
    assert cannot_stack(graphs, MODEL) is None
    wide = replace(MODEL, hidden_dim=16)
    with pytest.raises(UserError, match="one architecture and one batch size"):
        train_stacked(graphs, [Run(split(), m, QUICK, 0) for m in (MODEL, wide)], metric="accuracy")
    topk = replace(MODEL, method="topk")
    with pytest.raises(UserError, match="cannot be stacked; train one run at a time"):
        train_stacked(graphs, [Run(split(), topk, QUICK, 0)], metric="accuracy")


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
