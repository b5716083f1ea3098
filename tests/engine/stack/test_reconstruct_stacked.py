"""Autoencoders trained together give what they give alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_graphs import atoms, points
from trainings import alone, stacked, stacking
from twenty_steps import assert_twenty_steps_are_those_of_each_alone, splits

from gmpool.data import PackedGraphs
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.turns import train_together
from gmpool.engine.train import Trained
from gmpool.tasks.reconstruct.compress import COMPRESSIONS, LEARNS_ADJACENCY
from gmpool.tasks.reconstruct.settings import AutoencoderConfig, ReconstructTrainConfig

SMALL = AutoencoderConfig(hidden_dim=8, ratio=0.5)
QUICK = ReconstructTrainConfig(epochs=25, batch_size=8, lr=0.02)
CASES = [
    *((method, "x", atoms) for method in COMPRESSIONS),
    *((method, "x", points) for method in ("gmt", "topk")),
    *((method, "a", points) for method in sorted(LEARNS_ADJACENCY)),
]


@pytest.mark.parametrize(("method", "objective", "graphs"), CASES)
def test_twenty_steps_in_float64_are_those_of_each_alone(method, objective, graphs) -> None:
    """Every replica has a rate, a decay, a clip and a split of its own."""
    configs = [
        QUICK,
        replace(QUICK, lr=1e-3, weight_decay=0.01, warmup_epochs=3),
        replace(QUICK, clip_norm=0.1),
    ]
    config = replace(SMALL, method=method, objective=objective)
    assert_twenty_steps_are_those_of_each_alone(graphs(), splits(3), config, configs)


def runs(model: AutoencoderConfig) -> list[Member]:
    """They stop at different epochs."""
    return [
        Member(part, model, replace(QUICK, patience=2 + 3 * k), seed=k)
        for k, part in enumerate(splits(3))
    ]


def assert_equal(found: object, graphs: PackedGraphs, run: Member) -> None:
    single = alone(graphs, run)
    assert isinstance(found, Trained)
    assert found.best.epoch == single.best.epoch
    for a, b in zip(found.curve, single.curve, strict=True):
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
        assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-4)
        assert a.valid_metric == pytest.approx(b.valid_metric, rel=1e-4)
    assert found.test_metric == pytest.approx(single.test_metric, rel=1e-4)
    assert found.test_loss == pytest.approx(single.test_loss, rel=1e-4)


@pytest.mark.parametrize(
    ("method", "objective"), [("gmt", "x"), ("random", "x"), ("structpool", "x"), ("mincut", "a")]
)
def test_a_whole_training_with_early_stopping(method: str, objective: str) -> None:
    """The random clusters of a graph are the same whatever batch an evaluation puts it in."""
    graphs = atoms()
    stack = runs(replace(SMALL, method=method, objective=objective))
    for found, run in zip(stacked(graphs, stack), stack, strict=True):
        assert_equal(found, graphs, run)


def test_stacks_of_other_shapes_take_turns() -> None:
    graphs, told = atoms(), []
    ratios = [runs(replace(SMALL, ratio=ratio)) for ratio in (0.2, 0.5, 0.8)]
    stackings = [
        stacking(graphs, stack, lambda number, _, k=k: told.append((number, k)))
        for k, stack in enumerate(ratios)
    ]
    results = {(stack, run): one for stack, run, one in train_together(stackings)}
    assert told[:6] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    assert sorted(results) == [(stack, run) for stack in range(3) for run in range(3)]
    for (stack, run), one in results.items():
        assert_equal(one, graphs, ratios[stack][run])
        assert one.replicas == 3


def test_a_rate_stays_and_gradients_are_not_clipped() -> None:
    assert QUICK.cosine_epochs == float("inf")
    long = replace(QUICK, epochs=50, patience=None)
    short = replace(long, epochs=3)
    part, graphs = splits(1)[0], atoms()
    curves = [alone(graphs, Member(part, SMALL, config, 0)).curve for config in (long, short)]
    assert curves[0][:3] == curves[1], "the number of epochs does not change the rate"


def test_a_graph_trained_on_alone_is_its_own_validation() -> None:
    graphs = points()
    whole = torch.zeros(1, dtype=torch.int64)
    split = replace(splits(1)[0], train=whole, valid=whole, test=whole)
    config = replace(QUICK, batch_size=1, epochs=3)
    member = Member(split, SMALL, config, 0)
    single, (found,) = alone(graphs, member), stacked(graphs, [member])
    assert isinstance(found, Trained)
    assert found.test_metric == pytest.approx(single.test_metric, rel=1e-4)
    assert single.test_metric == single.best.valid_metric
