"""The readout survives torch.compile(fullgraph=True) and torch.export, with the same numbers."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch

from gmpool import GraphMultisetTransformer

DIM = 6
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def a_model(**options: object) -> GraphMultisetTransformer:
    torch.manual_seed(0)
    return GraphMultisetTransformer(DIM, 4, num_seeds=3, num_heads=2, **options)


def arguments(batch: Batch, *, told: bool = True) -> tuple:
    """told: how many graphs there are, which is else found out on the way."""
    return batch.x, batch.edge_index, batch.batch, *([batch.size] if told else [])


def outputs_and_gradients(model: object, batch: Batch, *, told: bool) -> list[torch.Tensor]:
    x = batch.x.detach().requires_grad_()
    out = model(x, *arguments(batch, told=told)[1:])
    out.square().sum().backward()
    return [out, x.grad]


@pytest.mark.parametrize(
    ("backend", "told", "options"),
    [
        pytest.param("inductor", False, {}, marks=pytest.mark.slow),  # it compiles C++
        ("aot_eager", True, {"blocks": "GMPool_I-SelfAtt-GMPool_G", "softmax": "nodes"}),
        ("aot_eager", False, {"later_adjacency": "coarsened", "conv": "gin", "layer_norm": True}),
    ],
)
def test_compile(backend: str, told: bool, options: dict) -> None:
    torch._dynamo.reset()
    model = a_model(**options)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    for seed, sizes in ((0, [5, 1, 3]), (1, [2, 0, 9])):
        batch = random_batch(sizes, DIM, seed=seed, dtype=torch.float32)
        batch = batch.permuted(
            torch.randperm(len(batch.x)), torch.randperm(batch.edge_index.shape[1])
        )
        found, expected = (outputs_and_gradients(m, batch, told=told) for m in (compiled, model))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"softmax": "nodes", "later_adjacency": "coarsened"}])
def test_export_with_any_number_of_nodes_and_edges(options: dict) -> None:
    model = a_model(**options)
    batch = random_batch([5, 1, 3], DIM, dtype=torch.float32)
    nodes, edges = torch.export.Dim("nodes"), torch.export.Dim("edges")
    shapes = ({0: nodes}, {1: edges}, {0: nodes}, None)
    exported = torch.export.export(model, arguments(batch), dynamic_shapes=shapes).module()
    other = random_batch([2, 0, 9], DIM, seed=1, dtype=torch.float32)
    for b in (batch, other):
        torch.testing.assert_close(exported(*arguments(b)), model(*arguments(b)))
