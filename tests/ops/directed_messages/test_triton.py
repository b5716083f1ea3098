"""Messages on directed bonds by Triton's kernels: interpreted on the CPU, compiled where there is a
GPU.

As triton_checks.py has it memory is poisoned, and errors are held against those of plain PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton_checks
from directed_bonds import DirectedBonds, random_bonds, reference
from small_sets import ring_molecule
from torch import Tensor
from trainings import begun, fixed_batches
from triton_checks import assert_as_exact, low_and_exact, with_gradients

from gmpool.data import PackedGraphs, Split, from_pyg
from gmpool.engine.stack.replicas import Replicas
from gmpool.ops import choice
from gmpool.ops.directed_messages import directed_messages
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.trainable import Trainable

pytest.importorskip("triton")
device = triton_checks.device


def messages(own: Tensor, table: Tensor, g: Tensor | None, bonds: DirectedBonds) -> Tensor:
    return directed_messages(own, table, bonds.code, g, bonds.rowptr, bonds.back)


@pytest.mark.parametrize(
    ("rows", "entries", "kinds", "width", "dtype"),
    [
        (1, 1, 1, 1, torch.float32),
        (3, 2, 2, 7, torch.float32),
        (40, 83, 5, 33, torch.float32),
        (13, 26, 12, 128, torch.float32),
        (25, 50, 20, 7, torch.float32),
        (1, 70, 3, 16, torch.float32),
        (6, 12, 3, 150, torch.float32),
        (17, 40, 4, 16, torch.bfloat16),
        (17, 40, 4, 16, torch.float16),
    ],
)
@pytest.mark.parametrize("heard", [True, False])
def test_values_and_gradients(
    rows: int, entries: int, kinds: int, width: int, dtype: torch.dtype, heard: bool, device: str
) -> None:
    bonds = random_bonds(rows, entries, kinds, seed=0).on(device)
    shapes = [(rows, width), (kinds, width), *([(entries, width)] if heard else [])]
    low, exact = low_and_exact(shapes, dtype, device)

    def run(f: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
        own, table, *g = inputs
        return with_gradients([f(own, table, g[0] if g else None, bonds)], inputs)

    assert_as_exact(run(messages, low), run(reference, low), run(reference, exact))


class Called:
    """Which kernels ran, in how many replicas."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from gmpool.ops.directed_messages import triton as kernels

        self.replicas: list[tuple[str, int]] = []
        for name in ("directed_messages_forward", "directed_messages_backward"):
            monkeypatch.setattr(kernels, name, self._watched(name, getattr(kernels, name)))

    def _watched(self, name: str, kernel: Any) -> Any:
        called = self.replicas

        class Watched:
            def __getitem__(self, grid: tuple[int, ...]) -> Any:
                called.append((name.removeprefix("directed_messages_"), grid[1]))
                return kernel[grid]

        return Watched()


@pytest.mark.parametrize("heard", [True, False])
def test_replicas_are_one_call(device: str, monkeypatch: pytest.MonkeyPatch, heard: bool) -> None:
    rows, entries, kinds, width = 23, 45, 14, 20
    each = [random_bonds(rows, entries, kinds, seed).on(device) for seed in range(3)]
    R, called = len(each), Called(monkeypatch)
    shapes = [(R, rows, width), (R, kinds, width), (R, entries, width)][: 3 if heard else 2]
    low, exact = low_and_exact(shapes, torch.float32, device)
    structure = [torch.stack(part) for part in zip(*each, strict=True)]

    def one(code: Tensor, rowptr: Tensor, back: Tensor, own: Tensor, table: Tensor, *g: Tensor):
        return messages(own, table, g[0] if g else None, DirectedBonds(code, rowptr, back))

    def alone(tensors: list[Tensor]) -> list[Tensor]:
        found = [
            reference(own, table, g[0] if g else None, bonds)
            for (own, table, *g), bonds in zip(zip(*tensors, strict=True), each, strict=True)
        ]
        return with_gradients([torch.stack(found)], tensors)

    found = with_gradients([torch.vmap(one)(*structure, *low)], low)
    assert called.replicas == [("forward", R), ("backward", R)]
    assert_as_exact(found, alone(low), alone(exact))


@pytest.mark.parametrize("replicas", [1, 2])
def test_where_each_bond_is_a_kind_nobody_goes_through_kinds(
    device: str, monkeypatch: pytest.MonkeyPatch, replicas: int
) -> None:
    rows, entries, width, called = 30, 70, 5, Called(monkeypatch)
    bonds = random_bonds(rows, entries, 1, seed=0)
    bonds = bonds._replace(code=torch.arange(entries)).on(device)
    shapes = [(replicas, n, width) for n in (rows, entries, entries)]
    low, exact = low_and_exact(shapes, torch.float32, device)

    def run(f: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
        return with_gradients([f(*inputs)], inputs)

    def alone(*inputs: Tensor) -> Tensor:
        return torch.stack([reference(*one, bonds) for one in zip(*inputs, strict=True)])

    found = run(torch.vmap(lambda *one: messages(*one, bonds)), low)
    assert called.replicas == [("forward", replicas)]
    assert_as_exact(found, run(alone, low), run(alone, exact))


def test_rows_that_lie_apart_are_read_where_they_lie(device: str) -> None:
    """Columns of a wider tensor, and columns whose numbers lie apart."""
    torch.manual_seed(0)
    bonds = random_bonds(9, 20, 3, seed=0).on(device)
    own, table, g = (torch.randn(n, 24, device=device) for n in (9, 3, 20))
    for cut in (slice(4, 11), slice(0, 24, 3)):
        parts = [t[:, cut].requires_grad_() for t in (own, table, g)]
        whole = [t.detach().contiguous().requires_grad_() for t in parts]
        found, expected = messages(*parts, bonds), messages(*whole, bonds)
        assert torch.equal(found, expected)
        grad = torch.ones(1, device=device).expand_as(found)
        for a, b in zip(
            torch.autograd.grad(found, parts, grad),
            torch.autograd.grad(expected, whole, grad.contiguous()),
            strict=True,
        ):
            assert torch.equal(a, b)


def test_what_is_not_a_number_is_not_hidden(device: str) -> None:
    bonds = random_bonds(6, 13, 2, seed=0).on(device)
    own, table, g = (torch.zeros(n, 4, device=device) for n in (6, 2, 13))
    for spoilt in (own, table, g):
        spoilt[1, 1] = float("nan")
        found = messages(own, table, g, bonds).isnan()
        assert torch.equal(found, reference(own, table, g, bonds).isnan())
        assert found.any()
        assert not found[:, 0].any()
        spoilt[1, 1] = 0.0


@pytest.mark.parametrize(("rows", "width"), [(0, 4), (3, 4), (3, 0)])
def test_no_bonds_no_atoms_no_columns(device: str, rows: int, width: int) -> None:
    rowptr, none = (torch.zeros(k, dtype=torch.long, device=device) for k in (rows + 1, 0))
    own, table, g = (torch.ones(n, width, device=device).requires_grad_() for n in (rows, 2, 0))
    out = messages(own, table, g, DirectedBonds(none, rowptr, none))
    assert out.shape == (0, width)
    for grad in torch.autograd.grad(out.sum(), (own, table, g)):
        assert torch.equal(grad, torch.zeros_like(grad))
    bonds = random_bonds(3, 4, 2, seed=0).on(device)
    empty = [torch.ones(n, 0, device=device).requires_grad_() for n in (3, 2, 4)]
    assert messages(*empty, bonds).shape == (4, 0)


def molecules(device: str) -> PackedGraphs:
    torch.manual_seed(1)
    sizes = (8, 1, 3, 4, 2, 7, 3, 12)
    return from_pyg([ring_molecule(n, k % 2) for k, n in enumerate(sizes)]).to(device)


def two_models(graphs: PackedGraphs) -> list[Trainable]:
    ids = torch.arange(graphs.num_graphs)
    config = ModelConfig(hidden_dim=8, num_layers=3, conv="dmpnn", state_dim=5, dropout=0.0)
    return [begun(graphs, Split(ids, ids, ids), config, seed) for seed in range(2)]


def test_a_stacked_step_is_that_of_the_composed_operator(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses, gradients and predictions; what fills up a batch changes nothing."""
    graphs = molecules(device)
    models = two_models(graphs)
    replicas, batches = Replicas(models, graphs.device), fixed_batches(graphs, models[0])
    assert batches.kinds is not None
    assert batches.attr is None
    called, none = Called(monkeypatch), batches.empty
    for step in ([[0, 1, 2, 3], [5, 6, 7, 4]], [[4, 1, 7, none], [2, none, none, none]]):
        found, ids = [], torch.tensor(step)
        for more, kernels in ((0, True), (5, True), (5, False)):
            bounds = type(batches.bounds(ids))(*(n + more for n in batches.bounds(ids)))
            batch = batches.make(ids.to(device), bounds)
            with monkeypatch.context() as patch:
                if not kernels:
                    patch.setattr(choice, "triton_serves", lambda t: False)
                called.replicas.clear()
                losses, grads = replicas.gradients(batch, 0)
                passes = 3 * [("forward", 2)] + 3 * [("backward", 2)]
                assert called.replicas == (passes if kernels else [])
                found.append((losses, grads, replicas.evaluate(batch)[0]))
        for others in found[1:]:
            for a, b in zip(found[0], others, strict=True):
                torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)
        replicas.weights[0] -= 0.01 * found[0][1]
