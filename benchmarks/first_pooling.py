"""The first pooling layer of every method on random graphs, for `gmpool bench efficiency`.

Each reads a batch as training hands it over: ours from a packed set, its peers as PyG's edge_index
and batch. What a layer needs of the edges beyond that it makes itself, in every pass: rows of a
sparse matrix, norms, padding, dense matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import dense_diff_pool, dense_mincut_pool
from torch_geometric.nn.dense import DenseGCNConv
from torch_geometric.utils import to_dense_adj, to_dense_batch

from benchmarks.padded import PaddedGMT
from gmpool.data import GraphBatch, PackedGraphs
from gmpool.data.pack import pack
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.pool import METHODS, method_options
from gmpool.pool.method import GraphSizes, Pooled

WIDTH = 128
CHAIN_NODES = 3000
"""Of a graph whose chain of clusterings is made in seconds."""
PEERS = {"gmt": "padded formulation", "diffpool": "PyG, dense", "mincut": "PyG, dense"}
NUMBERS = ("num_seeds", "num_clusters", "num_rows", "num_keys")
Layer = Callable[[], Tensor]
"""A forward pass, to one number that depends on all that came out."""


def erdos_renyi(nodes: int, edges: int, count: int) -> PackedGraphs:
    """Graphs with exactly so many edges, each in both directions, none twice."""
    generator = torch.Generator().manual_seed(0)
    ends = []
    for number in range(count):
        a, b = torch.randint(nodes, (2, 3 * edges), generator=generator)
        pairs = torch.unique((torch.minimum(a, b) * nodes + torch.maximum(a, b))[a != b])
        pairs = pairs[torch.randperm(len(pairs), generator=generator)[:edges]]
        assert len(pairs) == edges, "a graph so dense takes more draws"
        ends.append(number * nodes + torch.stack([pairs // nodes, pairs % nodes]))
    source, target = torch.cat(ends, 1)
    return pack(
        name="Erdős–Rényi",
        sizes=torch.full((count,), nodes),
        source=torch.cat([source, target]),
        target=torch.cat([target, source]),
    )


def options_to_keep(method: str, rows: int, nodes: int) -> dict[str, Any]:
    """The options with which a method pools graphs of so many nodes to so many rows."""
    options = method_options(method)
    number = next((name for name in NUMBERS if name in options), None)
    if number is not None:
        return {number: rows}
    return {"ratio": rows / nodes} if "ratio" in options else {}


def our_layer(method: str, graphs: PackedGraphs, options: dict[str, Any], device: str) -> Layer:
    """One of our methods on all graphs of a set."""
    nodes, ids = int(graphs.sizes[0]), torch.arange(len(graphs))
    if METHODS[method].architecture == "chain":
        if nodes > CHAIN_NODES:
            raise UserError("its chain of clusterings takes minutes to make")
        # Each graph takes seconds: the chain of one serves a batch of that one over and over.
        graphs, ids = graphs.select([0]), torch.zeros_like(ids)
    graphs, ids, x = graphs.to(device), ids.to(device), _features(nodes * len(ids), device)
    pool = METHODS[method](WIDTH, WIDTH, sizes=GraphSizes(nodes), **options).to(device)

    def forward() -> Tensor:
        batch = GraphBatch(graphs, ids)
        pooled: Pooled = pool(x, BatchEdges(batch), batch_segments(batch))
        weight = pooled.edge_weight
        learned = weight.sum() if weight is not None and weight.requires_grad else 0.0
        return pooled.x.sum() + learned + sum(pooled.losses.values())

    return forward


def peer_layer(method: str, graphs: PackedGraphs, rows: int, device: str) -> Layer:
    """The peer of one of our methods on all graphs of a set."""
    batch = GraphBatch(graphs, torch.arange(len(graphs)))
    edge_index, graph_of = batch.edge_index.to(device), batch.batch.to(device)
    x = _features(batch.num_nodes, device)
    pool: nn.Module
    pool = PaddedGMT(WIDTH, WIDTH, num_seeds=rows) if method == "gmt" else Dense(method, rows)
    pool.to(device)
    return lambda: pool(x, edge_index, graph_of, len(graphs)).sum()


def _features(rows: int, device: str) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(rows, WIDTH, generator=generator).to(device).requires_grad_()


class Dense(nn.Module):
    """DiffPool or MinCutPool of PyG on padded dense matrices, as in `benchmarks/pyg_methods.py`."""

    def __init__(self, method: str, num_clusters: int) -> None:
        super().__init__()
        self.convolves = method == "diffpool"
        self.pool = dense_diff_pool if self.convolves else dense_mincut_pool
        self.assign = (DenseGCNConv if self.convolves else nn.Linear)(WIDTH, num_clusters)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Tensor:
        x, mask = to_dense_batch(x, batch, batch_size=size)
        adjacency = to_dense_adj(edge_index, batch, max_num_nodes=x.shape[1], batch_size=size)
        s = self.assign(x, adjacency, mask) if self.convolves else self.assign(x)
        rows, coarse, one, other = self.pool(x, adjacency, s, mask)
        return rows.sum() + coarse.sum() + one + other
