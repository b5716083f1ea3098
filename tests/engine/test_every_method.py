"""Every registered method trains two epochs alone and, where its shapes are fixed, stacked, with
equal losses: on small sets, on molecules, and on networks whose nodes have no features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_sets import QUICK, classes, with_labels
from trainings import alone, as_set, begun, stacked
from twenty_steps import splits

from gmpool.data import PackedGraphs, Split, load
from gmpool.engine.stack.members import Member
from gmpool.engine.train import Trained
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_options
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.task import TASKS

SHORT = replace(QUICK, epochs=2, warmup_epochs=0, weight_decay=0.0)

CANCELS = ("key", "query", "pool.last.", ".raw.")
"""Weights that may have no gradient: a shift of all keys of a head cancels in a softmax over nodes,
as the raw scores of edges do; MemPool's last memory has one key, to which every node goes."""


def members(method: str, parts: list[Split], batch_size: int) -> list[Member]:
    """Each with a rate of its own."""
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, dropout=0.25)
    trains = [replace(SHORT, batch_size=batch_size, lr=lr) for lr in (2e-2, 5e-3)]
    return [
        Member(part, config, train, seed)
        for seed, (part, train) in enumerate(zip(parts, trains, strict=True))
    ]


def assert_trains(graphs: PackedGraphs, runs: list[Member]) -> None:
    single = [alone(graphs, run) for run in runs]
    for run, trained in zip(runs, single, strict=True):
        assert len(trained.curve) == 2
        before = begun(graphs, run.split, run.model, run.seed).state_dict()
        weights = dict(trained.model.named_parameters())
        still = [name for name, weight in weights.items() if torch.equal(before[name], weight)]
        assert all(any(word in name for word in CANCELS) for name in still), still
    method = runs[0].model.method
    why = TASKS["classify"].cannot_stack(as_set(graphs), runs[0].model)
    assert (why is None) == METHODS[method].has_fixed_shapes(method_options(method))
    if why:
        with pytest.raises(UserError, match="cannot be stacked"):
            stacked(graphs, runs)
        return
    for mine, found in zip(single, stacked(graphs, runs), strict=True):
        assert isinstance(found, Trained)
        for a, b in zip(mine.curve, found.curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-4)
        assert mine.test_loss == pytest.approx(found.test_loss, rel=1e-4)


SETS = {
    "classes": classes,
    "regression": lambda: with_labels(classes().sizes.float()[:, None], "regression"),
}


@pytest.mark.parametrize("make", SETS.values(), ids=list(SETS))
@pytest.mark.parametrize("method", METHODS)
def test_small_sets(method: str, make) -> None:
    assert_trains(make(), members(method, splits(2), 8))


@pytest.mark.data
@pytest.mark.parametrize("name", ["MUTAG", "IMDB-BINARY"])
@pytest.mark.parametrize("method", METHODS)
def test_real_sets(method: str, name: str, data_root: Path) -> None:
    data = load(name, data_root)
    assert_trains(data.graphs, members(method, list(data.folds[:2]), 128))
