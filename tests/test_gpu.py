"""On a CUDA device everything gives what it gives on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from graphs import random_batch

from gmpool import GraphMultisetTransformer
from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import load
from gmpool.engine.train import train
from gmpool.ops import grouped

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.fixture(params=["embedding_bag", "matrix products"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(grouped, "LARGE_GRAPH", 10**12 if request.param == "embedding_bag" else 0)
    return request.param


@pytest.mark.parametrize("softmax", ["seeds", "nodes"])
@pytest.mark.parametrize("conv", ["gcn", "gin", None])
def test_readout_and_gradients(conv: str | None, softmax: str, path: str) -> None:
    torch.manual_seed(0)
    batch = random_batch([50, 1, 0, 37, 12], 16, weighted=True)
    model = GraphMultisetTransformer(
        16, 8, num_seeds=4, num_heads=2, conv=conv, softmax=softmax, later_adjacency="coarsened"
    ).double()
    found = []
    for device in ("cpu", "cuda"):
        model.to(device).zero_grad()
        x = batch.x.to(device).detach().requires_grad_()
        out = model(
            x,
            batch.edge_index.to(device),
            batch.batch.to(device),
            batch.size,
            edge_weight=batch.weight.to(device),
        )
        (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        (penalty,) = torch.autograd.grad(grad.square().sum(), x)
        found.append([t.detach().cpu() for t in (out, grad, penalty)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-9, rtol=1e-8)


@pytest.mark.data
def test_training_follows_the_cpu(data_root: Path) -> None:
    dataset = load("MUTAG", data_root)
    model = ModelConfig(hidden_dim=32, dropout=0.0, pool={"num_heads": 4, "layer_norm": True})
    config = TrainConfig(epochs=3, warmup_epochs=1)
    curves = [
        train(
            dataset.graphs, dataset.folds[0], model, config, metric="accuracy", seed=0, device=d
        ).curve
        for d in ("cpu", "cuda")
    ]
    for a, b in zip(*curves, strict=True):
        assert a.train_loss == pytest.approx(b.train_loss, rel=1e-3)
        assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-3)
