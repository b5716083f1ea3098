"""Methods of fixed shape: nothing is read back, and what fills up a batch changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from graphs import random_batch
from molecule_sets import random_set
from small_sets import classes, split
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch_geometric.data import Data
from trainings import begun, fixed_batches

from gmpool.data import GraphBatch, PackedGraphs, from_pyg, from_smiles
from gmpool.engine.stack.replicas import Replicas
from gmpool.pool import METHODS
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import ModelConfig

FIXED = [name for name in METHODS if METHODS[name].fixed_shapes]
BY_BOUNDS: list[tuple[str, dict[str, Any]]] = [
    ("topk", {}),
    ("sagpool", {}),
    ("sagpool", {"scored_by": "graph"}),
    ("sagpool-global", {}),
    ("haarpool", {}),
]
"""Methods whose shapes inside are bounds, and options that decide how."""
SIZES = [1, 9, 4, 1, 13, 2, 7, 1]


def two_models(
    graphs: PackedGraphs, method: str, conv: str = "gcn", **more: Any
) -> list[GraphModel]:
    config = ModelConfig(method=method, hidden_dim=6, num_layers=3, conv=conv, dropout=0.0, **more)
    return [begun(graphs, split(graphs.num_graphs), config, seed) for seed in range(2)]


@pytest.mark.parametrize(
    ("method", "conv", "more", "make"),
    [(method, "gcn", {}, classes) for method in FIXED]
    + [
        ("mean", "dmpnn", {}, random_set),
        ("gin", "gin", {"batch_norm": "both"}, classes),
        ("gin", "gin", {"batch_norm": "both"}, random_set),
        ("sagpool", "gcn", {"pool": {"scored_by": "graph"}}, classes),
    ],
)
def test_no_value_is_read_back(
    method: str, conv: str, more: dict[str, Any], make: Callable[[], PackedGraphs]
) -> None:
    """Tensors without values raise an error where a value, or a shape made of values, is wanted:
    what works on them can be captured."""
    graphs, mode = make(), FakeTensorMode()
    models = two_models(graphs, method, conv, **more)
    replicas, batches = Replicas(models, torch.device("cpu")), fixed_batches(graphs, models[0])
    ids = torch.tensor([[0, 1, 2, 3], [5, 6, 7, batches.empty]])
    batch = batches.make(ids, batches.bounds(ids))

    def without_values(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {name: mode.from_tensor(tensor) for name, tensor in tensors.items()}

    (weights,) = replicas.weights
    replicas.weights = [mode.from_tensor(weights)]
    replicas.buffers = without_values(replicas.buffers)
    with mode:
        losses, gradients = replicas.gradients(batch.with_(without_values(batch.tensors())), 0)
    assert losses.shape == (2,)
    assert gradients.shape == weights.shape


def odd_graphs() -> PackedGraphs:
    """Of one node, and of others; nodes without edges."""
    made = []
    for number, n in enumerate(SIZES):
        one = random_batch([n], 3, seed=number, density=0.4, dtype=torch.float32)
        made.append(Data(x=one.x, edge_index=one.edge_index, y=torch.tensor([number % 2])))
    return from_pyg(made, name="odd")


def molecules() -> PackedGraphs:
    """Without symmetry, for rounding must not decide which of two equal atoms stays."""
    pytest.importorskip("rdkit")
    smiles = ["C", "CCO", "CC(=O)O", "NCC=O", "CCCl", "C#N", "CNCC(=O)CCl", "CN"]
    return from_smiles(smiles, torch.tensor([0, 1] * 4), task="multiclass")


@pytest.mark.parametrize("conv", ["gcn", "gin"])
@pytest.mark.parametrize("make", [odd_graphs, molecules])
@pytest.mark.parametrize(("method", "pool"), BY_BOUNDS)
def test_what_has_bounds_gives_what_a_ragged_batch_gives(
    method: str, pool: dict[str, Any], make: Callable[[], PackedGraphs], conv: str
) -> None:
    """Losses, predictions and gradients, at three levels, in float64."""
    graphs = make()
    models = [model.double() for model in two_models(graphs, method, conv, pool=pool)]
    batches = fixed_batches(graphs, models[0])
    batches.x = batches.x.double()
    if batches.attr is not None:
        batches.attr = batches.attr.double()
    replicas = Replicas(models, torch.device("cpu"))
    none = batches.empty
    ids = torch.tensor([[0, 1, 2, 3, 4], [5, 7, 6, none, none]])
    for slack in (0, 11):
        bounds = batches.bounds(ids)
        batch = batches.make(ids, type(bounds)(*(n + slack for n in bounds)))
        losses, gradients = replicas.gradients(batch, 0)
        out, _ = replicas.evaluate(batch)
        for r, model in enumerate(models):
            loss, alone = _alone(model, GraphBatch(graphs, ids[r][ids[r] != none]))
            torch.testing.assert_close(out[r, : len(alone)], alone)
            torch.testing.assert_close(losses[r], loss)
            for name, parameter in model.named_parameters():
                found = replicas.blocks[0].by_name(gradients)[name][r]
                expected = 0 * parameter if parameter.grad is None else parameter.grad
                torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-6)


def _alone(model: GraphModel, batch: GraphBatch) -> tuple[Tensor, Tensor]:
    """(loss, predictions); leaves gradients in the model."""
    batch.x = batch.x.double()
    if batch.edge_attr is not None:
        batch.edge_attr = batch.edge_attr.double()
    model.zero_grad()
    out, _ = model.evaluate(batch)
    loss = model.loss(batch, *model.phases)
    loss.backward()
    return loss.detach(), out.detach()
