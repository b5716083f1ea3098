"""Models of the chains that are made in a moment, and some that know how sure they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from chains import chain_set
from small_sets import MODEL

from gmpool.tasks.classify.ensemble import Ensemble, member_of, say
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.shape import DataShape

STEPS = 40


def plain_model(task: str = "regression", seed: int = 0) -> GraphModel:
    """One that has learned a little of all chains."""
    data = chain_set(task)
    graphs, ids = data.graphs, torch.arange(len(data))
    torch.manual_seed(seed)
    made = GraphModel(DataShape.of(graphs), MODEL)
    made.begin(data, ids)
    (batch,) = data.batches(ids, len(data))
    optimizer = torch.optim.Adam(made.parameters(), lr=0.02)
    for _ in range(STEPS):
        optimizer.zero_grad()
        made.distance(made(batch)[0], made.labels(batch)).backward()
        optimizer.step()
    return made.eval()


def calibrated_model(task: str = "regression", members: int = 2) -> Ensemble:
    """Several of them, calibrated on the same chains."""
    graphs = chain_set(task).graphs
    assert graphs.y is not None
    config = replace(MODEL, members=members)
    each = [plain_model(task, seed) for seed in range(members)]
    assert each[0].config == member_of(config)
    made = Ensemble.of(each, config, len(graphs))
    made.sure.fit(say(made, graphs), graphs.y.numpy(), np.zeros(len(graphs), np.int64))
    return made
