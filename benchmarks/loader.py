"""Batches for an epoch of PROTEINS, freshly shuffled: PackedGraphs beside PyG's DataLoader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch_geometric.loader import DataLoader
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from benchmarks.timing import interleaved, versus
from gmpool.data import epoch_batches, load, to_pyg

BATCH = 128


def measure(root: Path | None = None) -> list[dict[str, Any]]:
    graphs = load("PROTEINS", root).graphs
    loader = DataLoader(to_pyg(graphs), batch_size=BATCH, shuffle=True)
    ids, generator = torch.arange(graphs.num_graphs), torch.Generator().manual_seed(0)

    def ours() -> None:
        for batch in epoch_batches(graphs, ids, BATCH, generator):
            # All that a training step reads; its edges come with GCN's weights, PyG's without.
            _ = batch.x, batch.gcn, batch.batch, batch.ptr, batch.y

    def pyg() -> None:
        for batch in loader:
            _ = batch.x, batch.edge_index, batch.batch, batch.ptr, batch.y

    def pyg_normalised() -> None:
        for batch in loader:
            _ = batch.x, gcn_norm(batch.edge_index, num_nodes=batch.num_nodes), batch.y

    contestants = {
        "PackedGraphs": ours,
        "PyG DataLoader": pyg,
        "PyG DataLoader + gcn_norm": pyg_normalised,
    }
    times = interleaved(contestants, rounds=9, repeats=5)
    return versus(times, "PackedGraphs", "batches for an epoch of PROTEINS")
