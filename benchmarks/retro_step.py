"""A step of training GLN on USPTO-50k on a CPU: each distinct state of a batch once, beside a state
for each atom, forward and backward; and how many atoms and states there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.timing import alone, interleaved, versus
from gmpool.tasks.retrosynthesis.batch import ReactionBatch
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.encoders import Graphs
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.settings import GLNConfig, GLNTrainConfig
from gmpool.tasks.task import TASKS
from gmpool.tasks.trainable import Phase

METHODS = ("mean", "gmpool")
ROUNDS = 5
ONCE, EACH = "each distinct state once", "a state for each atom"


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    yield from of_set(TASKS["retrosynthesis"].open("USPTO-50k", root), ROUNDS)


def of_set(reactions: Reactions, rounds: int) -> Iterator[dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    size = GLNTrainConfig().batch_size
    batch = next(reactions.batches(reactions.split.train, size, generator))
    facts = {"reactions": int(batch.real.sum()), "threads": torch.get_num_threads()}
    yield from _states(batch, facts)
    for method in METHODS:
        torch.manual_seed(0)
        model = TASKS["retrosynthesis"].build(reactions, GLNConfig(method=method))
        assert isinstance(model, GLN)
        once = _step(model, batch)
        times = interleaved({ONCE: once, EACH: _for_each_atom(once)}, rounds=rounds)
        yield from versus(times, ONCE, f"a step of GLN with {method}", **facts)


def _step(model: GLN, batch: ReactionBatch) -> Callable[[], None]:
    def run() -> None:
        model.zero_grad(set_to_none=True)
        model.loss(batch, Phase()).backward()

    return run


def _for_each_atom(run: Callable[[], None]) -> Callable[[], None]:
    def reference() -> None:
        with patch.object(Graphs, "distinct", lambda graphs, rounds: None):
            run()

    return reference


def _states(batch: ReactionBatch, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    graphs = Graphs.of(batch.molecules, batch.features)
    distinct = graphs.distinct(GLNConfig().rounds)
    assert distinct is not None
    yield alone("atoms of candidate reactants", float(len(graphs.kinds)), "atoms", **facts)
    for number, each in enumerate(distinct.rounds, start=1):
        count = float(len(each.own))
        yield alone(f"distinct states after round {number}", count, "states", **facts)
