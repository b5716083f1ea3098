"""A training epoch of GMT on PROTEINS (authors' settings): ours, padded, and PyG's own readout.

All three have three GCN layers of 128, the same classifier, loss, clipping and optimizer, and draw
fresh shuffles; the peers through PyG's DataLoader.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.loader import DataLoader
from torch_geometric.nn import aggr

from benchmarks.padded import PaddedGMT, PaddedGraphClassifier
from benchmarks.timing import interleaved, versus
from gmpool.config import configure
from gmpool.data import PackedGraphs, epoch_batches, load
from gmpool.nn.heads import classifier
from gmpool.pool import method_options
from gmpool.pool.gmt import seeds_for
from gmpool.tasks.classify import GraphModel
from gmpool.tasks.shape import DataShape

BATCH, HIDDEN, HEADS = 128, 128, 2


class PyGReadout(nn.Module):
    """aggr.GraphMultisetTransformer at width 128, called as ours is."""

    def __init__(self, num_seeds: int) -> None:
        super().__init__()
        self.readout = aggr.GraphMultisetTransformer(HIDDEN, k=num_seeds, heads=HEADS)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        return self.readout(x, batch, dim_size=batch_size)


def our_epoch(graphs: PackedGraphs) -> Callable[[], None]:
    options = method_options("gmt")
    config, settings = configure("PROTEINS", "gmt", options, {})
    model = GraphModel(DataShape.of(graphs), config)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr, fused=True)
    ids, generator = torch.arange(graphs.num_graphs), torch.Generator().manual_seed(0)

    def epoch() -> None:
        for batch in epoch_batches(graphs, ids, BATCH, generator):
            out, _ = model(batch)
            step(model, optimizer, model.loss(out, model.labels(batch)))

    return epoch


def peer_epoch(graphs: PackedGraphs, readout: nn.Module, *, jumping: bool) -> Callable[[], None]:
    head = classifier(HIDDEN, HIDDEN, graphs.num_outputs, dropout=0.5)
    model = PaddedGraphClassifier(graphs.num_features, HIDDEN, readout, head, jumping=jumping)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    loader = DataLoader(graphs.to_pyg(), batch_size=BATCH, shuffle=True)

    def epoch() -> None:
        for batch in loader:
            out = model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            step(model, optimizer, F.cross_entropy(out, batch.y))

    return epoch


def step(model: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def measure(root: Path | None = None, rounds: int = 5) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    graphs = load("PROTEINS", root).graphs
    seeds = seeds_for(graphs.mean_nodes)
    padded = PaddedGMT(3 * HIDDEN, HIDDEN, num_seeds=seeds, num_heads=HEADS)
    times = interleaved(
        {
            "gmpool": our_epoch(graphs),
            "padded formulation": peer_epoch(graphs, padded, jumping=True),
            "GCN + PyG's readout at width 128": peer_epoch(
                graphs, PyGReadout(seeds), jumping=False
            ),
        },
        rounds=rounds,
        repeats=2,
    )
    return versus(times, "gmpool", "training epoch of PROTEINS", threads=torch.get_num_threads())
