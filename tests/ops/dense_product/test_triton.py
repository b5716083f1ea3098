"""The kernel for dense graphs against the reference, and networks that read bits against those that
read lists of entries; as triton_checks.py has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import triton_checks
from dense_sets import SIZES, dense_set, graphs_of
from small_sets import split
from torch import Tensor
from trainings import begun, fixed_batches
from triton_checks import PRODUCTS, assert_as_exact, low_and_exact, with_gradients

from gmpool.data.fixed_batch import Bounds, FixedBatches
from gmpool.engine.stack.replicas import Replicas
from gmpool.ops import choice
from gmpool.ops.dense_product import dense_product
from gmpool.ops.dense_product.reference import dense_product_reference
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import ModelConfig

pytest.importorskip("triton")
device = triton_checks.device
WHICH = pytest.mark.parametrize("normalised", [False, True], ids=["plain", "gcn"])
NONE = len(SIZES)


@WHICH
@pytest.mark.parametrize(
    ("ids", "made_up", "width", "dtype"),
    [
        (list(range(NONE)), 0, 1, torch.float32),
        ([7, NONE, 3, 0, NONE, NONE, 6, 6], 70, 7, torch.float32),
        ([4, 5, 1], 1, 33, torch.float32),
        ([7], 0, 128, torch.float32),
        ([NONE, 2, 5], 2, 200, torch.float32),
        ([6, 3], 5, 20, torch.bfloat16),
        ([6, 3], 5, 20, torch.float16),
    ],
)
def test_dense_product(
    ids: list[int],
    made_up: int,
    width: int,
    dtype: torch.dtype,
    normalised: bool,
    device: str,
) -> None:
    graphs, scale = graphs_of(dense_set(), ids, made_up, device)
    low, exact = low_and_exact([(int(graphs.ptr[-1]), width)], dtype, device)

    def run(f: Callable[..., Tensor], x: Tensor) -> list[Tensor]:
        return with_gradients([f(graphs, x, scale if normalised else None)], [x])

    reference = dense_product_reference
    ours, plain = run(dense_product, *low), run(reference, *low)
    assert_as_exact(ours, plain, run(reference, *exact), PRODUCTS)
    assert all(t[len(t) - made_up :].eq(0).all() for t in ours)


def test_tf32_products_are_cut_in_two(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gmpool.ops.dense_product import triton as kernels

    monkeypatch.setattr(kernels, "precision", lambda dtype: "tf32")
    graphs, scale = graphs_of(dense_set(), [7, 2], 1, device)
    (x,), (exact,) = low_and_exact([(132, 16)], torch.float32, device)
    error = (dense_product(graphs, x, scale) - dense_product_reference(graphs, exact, scale)).norm()
    assert 0 < error < 2**-15 * exact.norm()


@WHICH
def test_replicas_are_what_each_is_alone(normalised: bool, device: str) -> None:
    many, scale = graphs_of(dense_set(), [7, 4, 2, 8], 1, device)
    few, _ = graphs_of(dense_set(), [0, 5, 8, 6], 35, device)
    S = scale if normalised else None
    ((x,), _) = low_and_exact([(2, 165, 7)], torch.float32, device)
    index = [torch.stack([getattr(g, name) for g in (many, few)]) for name in ("ids", "ptr")]
    y = torch.vmap(lambda x, ids, ptr: dense_product(replace(many, ids=ids, ptr=ptr), x, S))(
        x, *index
    )
    alone = torch.stack([dense_product(g, x[r], S) for r, g in enumerate((many, few))])
    assert torch.equal(y, alone)
    probe = torch.randn_like(y)
    assert torch.equal(*(torch.autograd.grad(out, x, probe)[0] for out in (y, alone)))


def models(method: str, conv: str, hidden_dim: int = 16) -> list[GraphModel]:
    config = ModelConfig(method=method, hidden_dim=hidden_dim, conv=conv, dropout=0.0)
    return [begun(dense_set(), split(len(SIZES)), config, seed) for seed in range(2)]


@pytest.mark.parametrize(
    ("method", "conv"),
    [("gmt", "gcn"), ("gmt", "gin"), ("mean", "gcn"), ("gin", "gin"), ("diffpool", "gcn")],
)
@pytest.mark.parametrize("slack", [0, 70])
def test_a_network_gives_the_same_on_bits(
    method: str,
    conv: str,
    slack: int,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Losses, gradients and outputs of two replicas, whatever room is left in their batches."""
    graphs = dense_set().to(device)
    replicas = Replicas(models(method, conv), torch.device(device))
    ids, found = torch.tensor([[6, 0, 3, 4], [5, 1, NONE, NONE]]), []
    for dense in (True, False):
        batches = FixedBatches(graphs, plain=True, dense=dense)
        bounds = Bounds(*(n + slack for n in batches.bounds(ids)))
        batch = batches.make(ids.to(device), bounds)
        assert (batch.bits is None) == (batch.gcn is not None) == (not dense)
        found.append([*replicas.gradients(batch, 0), replicas.evaluate(batch)[0]])
        monkeypatch.setattr(choice, "INTERPRET", False)  # lists of entries by plain PyTorch
    for a, b in zip(*found, strict=True):
        assert (a - b).norm() <= 1e-5 * b.norm()


@pytest.mark.parametrize(
    ("method", "conv", "dense"),
    [
        ("gmt", "gcn", True),
        ("mean", "gcn", True),
        ("gin", "gin", True),
        ("mincut", "gcn", True),
        ("diffpool", "gcn", True),
        ("sagpool", "gcn", False),
        ("structpool", "gcn", True),
    ],
)
def test_who_reads_bits(method: str, conv: str, dense: bool, device: str) -> None:
    model, graphs = models(method, conv, hidden_dim=128)[0], dense_set().to(device)
    made = fixed_batches(graphs, model)
    assert (made.bits is not None) == dense
    sparse = dense_set([40] * len(SIZES), density=0.1).to(device)
    assert fixed_batches(sparse, model).bits is None
    assert fixed_batches(graphs, model.double()).bits is None
