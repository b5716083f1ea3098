"""A training epoch of every method on PROTEINS, ours beside the same network of PyG's operators.

Widths, layers, ratio, classifier, loss, clipping and optimizer are the same; shuffles are fresh,
and the peers' batches come from PyG's DataLoader. Each is also timed beside our mean pooling.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.loader import DataLoader

from benchmarks.epoch import BATCH, HIDDEN, Epoch, our_epoch, step
from benchmarks.pyg_methods import pyg_network
from benchmarks.timing import interleaved, row
from gmpool.data import PackedGraphs, load, to_pyg
from gmpool.nn.heads import classifier
from gmpool.pool import METHODS
from gmpool.pool.method import GraphSizes


def pyg_epoch(graphs: PackedGraphs, method: str) -> Epoch | None:
    rows = GraphSizes(graphs.mean_nodes).share(0.25)
    later = GraphSizes(rows).share(0.25)
    network = pyg_network(method, graphs.num_features, HIDDEN, rows, later)
    if network is None:
        return None
    head = classifier(network.out_dim, HIDDEN, graphs.num_outputs, dropout=0.5)
    model = nn.ModuleList([network, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    loader = DataLoader(to_pyg(graphs), batch_size=BATCH, shuffle=True)

    def epoch() -> None:
        for batch in loader:
            vectors, loss = network(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            step(model, optimizer, F.cross_entropy(head(vectors), batch.y) + loss)

    return epoch


def measure(root: Path | None = None, rounds: int = 3) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    dataset = load("PROTEINS", root)
    rows: list[dict[str, Any]] = []
    for method in METHODS:
        contestants = {"ours": our_epoch(dataset, method)}
        peer = pyg_epoch(dataset.graphs, method)
        if peer is not None:
            contestants["PyG"] = peer
        if method != "mean":
            contestants["mean"] = our_epoch(dataset, "mean")
        times = interleaved(contestants, rounds=rounds)
        if "PyG" in times:
            rows.append(row(f"{method}: epoch vs PyG", times["ours"], times["PyG"], "s"))
        if "mean" in times:
            rows.append(row(f"{method}: epoch vs mean", times["ours"], times["mean"], "s"))
    return rows
