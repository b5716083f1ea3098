"""Messages with bonds by Triton's kernels: interpreted on the CPU, compiled where there is a GPU.

As triton_checks.py has it memory is poisoned, and errors are held against those of plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton_checks
from bonded_graphs import Molecules, random_molecules, random_tree
from small_sets import ring_molecule
from torch import Tensor, nn
from trainings import begun, fixed_batches
from triton_checks import assert_as_exact, low_and_exact, with_gradients

from gmpool.data import PackedGraphs, Split, from_pyg
from gmpool.data.fixed_batch import FixedBatches
from gmpool.engine.stack.replicas import Replicas
from gmpool.graph.batch_edges import BatchEdges
from gmpool.nn import molecule
from gmpool.nn.molecule import BondConv, BondGINConv
from gmpool.ops import choice
from gmpool.ops.bond_messages import bond_messages
from gmpool.ops.bond_messages.reference import bond_messages_reference
from gmpool.ops.sparse import Pattern
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.trainable import Trainable

pytest.importorskip("triton")
device = triton_checks.device


def on(made: Molecules, device: str) -> Molecules:
    p = made.pattern
    rowptr, col, code, weight = (t.to(device) for t in (p.rowptr, p.col, made.code, made.weight))
    return Molecules(Pattern(rowptr, col, rowptr, col), code, weight)


@pytest.mark.parametrize(
    ("sizes", "kinds", "width", "dtype"),
    [
        ([1], 1, 1, torch.float32),
        ([1, 1, 1], 2, 7, torch.float32),
        ([30, 1, 0, 12], 5, 33, torch.float32),
        ([9, 4], 12, 128, torch.float32),
        ([25], 20, 7, torch.float32),
        ([6], 3, 150, torch.float32),
        ([14, 3], 4, 16, torch.bfloat16),
        ([14, 3], 4, 16, torch.float16),
    ],
)
@pytest.mark.parametrize("weighted", [True, False])
def test_values_and_gradients(
    sizes: list[int], kinds: int, width: int, dtype: torch.dtype, weighted: bool, device: str
) -> None:
    made = on(random_molecules(sizes, kinds), device)
    low, exact = low_and_exact([(sum(sizes), width), (kinds, width)], dtype, device)

    def run(f: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
        weight = made.weight.to(dtype).to(inputs[0].dtype) if weighted else None
        return with_gradients([f(made.pattern, *inputs, made.code, weight)], inputs)

    plain = run(bond_messages_reference, low)
    assert_as_exact(run(bond_messages, low), plain, run(bond_messages_reference, exact))


def test_replicas_are_one_call(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gmpool.ops.bond_messages import triton as kernels

    n, kinds, width = 23, 14, 20
    trees = [on(random_tree(n, kinds, seed), device) for seed in range(3)]
    R, called = len(trees), []
    forward, backward = kernels.forward, kernels.backward

    def counted(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(x: Tensor, table: Tensor, *rest: Any) -> Any:
            called.append(table.shape[0])
            return kernel(x, table, *rest)

        return run

    monkeypatch.setattr(kernels, "forward", counted(forward))
    monkeypatch.setattr(kernels, "backward", counted(backward))
    low, exact = low_and_exact([(R, n, width), (R, kinds, width)], torch.float32, device)

    def one(x: Tensor, table: Tensor, code: Tensor, w: Tensor, ptr: Tensor, col: Tensor) -> Tensor:
        return bond_messages(Pattern(ptr, col, ptr, col), x, table, code, w)

    def each(tensors: list[Tensor]) -> list[Tensor]:
        found = [
            bond_messages_reference(tree.pattern, *rows, tree.code, tree.weight)
            for rows, tree in zip(zip(*tensors, strict=True), trees, strict=True)
        ]
        return with_gradients([torch.stack(found)], tensors)

    parts = ((t.code, t.weight.float(), t.pattern.rowptr, t.pattern.col) for t in trees)
    structure = [torch.stack(part) for part in zip(*parts, strict=True)]
    found = with_gradients([torch.vmap(one)(*low, *structure)], low)
    assert called == [R, R]
    assert_as_exact(found, each(low), each(exact))


def test_what_is_not_a_number_is_not_hidden(device: str) -> None:
    made = on(random_tree(6, 2, 0), device)
    x, table = torch.zeros(6, 4, device=device), torch.zeros(2, 4, device=device)
    x[0, 1] = float("nan")
    args = (made.pattern, x, table, made.code)
    found, expected = bond_messages(*args).isnan(), bond_messages_reference(*args).isnan()
    assert torch.equal(found, expected)
    assert found.any()


def test_no_edges_and_no_nodes(device: str) -> None:
    for n in (0, 3):
        ptr, none = (torch.zeros(k, dtype=torch.long, device=device) for k in (n + 1, 0))
        x = torch.randn(n, 4, device=device, requires_grad=True)
        table = torch.randn(2, 4, device=device, requires_grad=True)
        out = bond_messages(Pattern(ptr, none, ptr, none), x, table, none)
        assert torch.equal(out, torch.zeros(n, 4, device=device))
        for grad in torch.autograd.grad(out.sum(), (x, table)):
            assert torch.equal(grad, torch.zeros_like(grad))


def molecules(device: str) -> PackedGraphs:
    torch.manual_seed(1)
    sizes = (8, 1, 3, 4, 2, 7, 3, 12)
    return from_pyg([ring_molecule(n, k % 2) for k, n in enumerate(sizes)]).to(device)


def two_models(graphs: PackedGraphs, method: str, conv: str) -> list[Trainable]:
    ids = torch.arange(graphs.num_graphs)
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, conv=conv, dropout=0.0)
    return [begun(graphs, Split(ids, ids, ids), config, seed) for seed in range(2)]


@pytest.mark.parametrize("make", [BondConv, BondGINConv])
def test_layers_are_what_they_are_without_kinds(
    make: Callable[..., nn.Module], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, and gradients of all parameters and of the input."""
    graphs = molecules(device)
    torch.manual_seed(0)
    conv = make(graphs.edge_cat_sizes, 12).to(device)
    x = torch.randn(graphs.num_nodes, 12).to(device).requires_grad_()
    found = []
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr(molecule, "by_kind", lambda x: False)
        batch = graphs.batch(range(graphs.num_graphs))
        inputs = [x, *conv.parameters()]
        found.append(with_gradients([conv(x, BatchEdges(batch))], inputs))
        assert ("edge_attr" in vars(batch)) != fused
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("conv", "plain"), [("gcn", False), ("gin", True)])
def test_a_stacked_step_needs_no_features_of_edges(conv: str, plain: bool, device: str) -> None:
    """Codes stand in their place."""
    graphs = molecules(device)
    models = two_models(graphs, "gmt", conv)
    replicas = Replicas(models, graphs.device)
    with_codes, without = fixed_batches(graphs, models[0]), FixedBatches(graphs, plain=True)
    assert with_codes.plain == plain
    assert with_codes.attr is None
    assert with_codes.kinds is not None
    none = with_codes.empty
    for step in ([[0, 1, 2, 3], [5, 6, 7, 4]], [[4, 1, 7, none], [2, none, none, none]]):
        found, ids = [], torch.tensor(step)
        bounds = without.bounds(ids)
        for batches in (with_codes, without):
            batch = batches.make(ids.to(device), bounds._replace(nodes=bounds.nodes + 3))
            losses, grads = replicas.gradients(batch, 0)
            found.append((losses, grads, replicas.evaluate(batch)[0]))
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)
        replicas.weights[0] -= 0.01 * found[0][1]


def test_who_reads_edges_gets_them(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = molecules(device)
    clusters = fixed_batches(graphs, two_models(graphs, "mincut", "gcn")[0])
    assert clusters.plain
    assert clusters.attr is None
    assert clusters.kinds is not None
    selection = fixed_batches(graphs, two_models(graphs, "topk", "gcn")[0])
    assert selection.plain
    assert selection.attr is not None
    monkeypatch.setattr(choice, "triton_serves", lambda t: False)
    composed = fixed_batches(graphs, two_models(graphs, "gmt", "gcn")[0])
    assert composed.plain
    assert composed.attr is not None
    assert composed.kinds is None
