"""Twenty steps of a stack against those of each of its runs, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from trainings import begun, fixed_batches

from gmpool.config import TrainConfig
from gmpool.data import GraphBatch, PackedGraphs, Split
from gmpool.engine.mover import SCHEDULED
from gmpool.engine.stack.adam import Adam
from gmpool.engine.stack.replicas import Replicas
from gmpool.engine.stack.shuffles import Shuffles
from gmpool.tasks.trainable import Trainable


def splits(count: int, graphs: int = 24) -> list[Split]:
    """Parts of different sizes, so that epochs have different numbers of steps."""
    ids = torch.arange(graphs)
    return [Split(ids.roll(5 * k)[: 8 + 3 * k], ids[-6:], ids[-9:-3]) for k in range(count)]


def assert_twenty_steps_are_those_of_each_alone(
    graphs: PackedGraphs,
    parts: Sequence[Split],
    config: Any,
    configs: Sequence[TrainConfig],
) -> None:
    """Losses to 1e-5, with batches of 8; one part and one configuration for each replica."""
    count = len(parts)
    models = [begun(graphs, p, config, seed).double() for seed, p in enumerate(parts)]
    batches = fixed_batches(graphs, models[0])
    batches.x = batches.x.double()
    if batches.attr is not None:
        batches.attr = batches.attr.double()
    shuffles = Shuffles([p.train for p in parts], range(count), 8)
    replicas = Replicas(models, torch.device("cpu"))
    (phase,) = replicas.model.phases
    (weights,) = replicas.weights
    adam = Adam.start(weights, list(configs), shuffles.steps, phase)
    full, last = shuffles.draw(20, batches.empty)
    steps = int(shuffles.steps.max())
    found: list[list[float]] = [[] for _ in parts]
    for epoch in range(20):
        order = [full[:, epoch * (steps - 1) + s] for s in range(steps - 1)] + [last[:, epoch]]
        for ids in order:
            replicas.set_clocks(adam.clock)
            losses, grads = replicas.gradients(batches.make(ids, batches.bounds(ids)), 0)
            active = (ids != batches.empty).any(1)
            adam.step(weights, grads, active)
            for r in active.nonzero()[:, 0].tolist():
                found[r].append(float(losses[r]))
    for r, (part, settings) in enumerate(zip(parts, configs, strict=True)):
        alone = _alone(in_doubles(begun(graphs, part, config, r)), graphs, part, settings, r)
        assert len(found[r]) >= 20
        assert found[r][:20] == pytest.approx(alone[:20], rel=1e-5)


def in_doubles(model: Trainable) -> Trainable:
    """A model that reads batches of float32 as float64."""
    model = model.double()
    model.register_forward_pre_hook(lambda _, args: (_with_doubles(args[0]),))
    return model


def _with_doubles(batch: GraphBatch) -> GraphBatch:
    batch.x = batch.x.double()
    if batch.edge_attr is not None:
        batch.edge_attr = batch.edge_attr.double()
    return batch


def _alone(
    model: Trainable, graphs: PackedGraphs, part: Split, config: TrainConfig, seed: int
) -> list[float]:
    """Losses by PyTorch's own optimizer, clipping and scheduler."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
    steps = -(-len(part.train) // 8)
    factor = SCHEDULED[config.schedule]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda s: factor(
            s, warmup=config.warmup_epochs * steps, total=config.cosine_epochs * steps
        ),
    )
    generator, losses = torch.Generator().manual_seed(seed), []
    model.train()
    for _ in range(20):
        order = part.train[torch.randperm(len(part.train), generator=generator)]
        for ids in order.split(8):
            batch = GraphBatch(graphs, ids)
            out, auxiliary = model(batch)
            loss = model.distance(out, model.labels(batch)) + sum(auxiliary.values())
            optimizer.zero_grad()
            loss.backward()
            if config.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
    return losses
