"""The pooling methods as one writes them with PyG's operators: the peers of `gmpool bench methods`.

Each network takes PyG's (x, edge_index, batch, num_graphs) and gives (vectors [B, out_dim], loss):
three GCN layers of the given width and the same architecture as ours
(`gmpool/tasks/classify/networks.py`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import (
    ASAPooling,
    EdgePooling,
    GCNConv,
    GINConv,
    MemPooling,
    SAGPooling,
    TopKPooling,
    aggr,
    dense_diff_pool,
    dense_mincut_pool,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.nn.dense import DenseGCNConv
from torch_geometric.utils import to_dense_adj, to_dense_batch

from gmpool.pool.sortpool import ConvolutionReadout

Result = tuple[Tensor, Tensor | float]


def _gin(in_dim: int, out_dim: int) -> GINConv:
    mlp = nn.Sequential(nn.Linear(in_dim, out_dim), nn.ReLU(), nn.Linear(out_dim, out_dim))
    return GINConv(mlp)


def _both(x: Tensor, batch: Tensor, size: int) -> Tensor:
    return torch.cat([global_mean_pool(x, batch, size), global_max_pool(x, batch, size)], 1)


class Readout(nn.Module):
    """Most readouts of PyG, behind one call."""

    def __init__(self, kind: str, in_dim: int, width: int, num_rows: int) -> None:
        super().__init__()
        self.kind, self.num_rows = kind, num_rows
        self.out_dim: int = {
            "mean": in_dim, "gin": in_dim, "set2set": 2 * in_dim, "sagpool-global": 2 * in_dim,
        }.get(kind, width)  # fmt: skip
        if kind == "set2set":
            self.set2set = aggr.Set2Set(in_dim, processing_steps=3)
        elif kind == "sagpool-global":
            self.sag = SAGPooling(in_dim, 0.25, GNN=GCNConv)
        elif kind == "sortpool":
            self.sort = aggr.SortAggregation(num_rows)
            self.convolutions = ConvolutionReadout(in_dim, num_rows)
            self.out_dim = self.convolutions.out_dim
        elif kind == "deepsets":
            two = [
                nn.Sequential(nn.Linear(a, width), nn.ReLU(), nn.Linear(width, width))
                for a in (in_dim, width)
            ]
            self.deepsets = aggr.DeepSetsAggregation(*two)
        elif kind == "set-transformer":
            self.narrow = nn.Linear(in_dim, width)
            self.transformer = aggr.SetTransformerAggregation(width, heads=4, layer_norm=True)
        elif kind == "mempool":
            self.first = MemPooling(in_dim, width, 5, num_rows)
            self.last = MemPooling(width, width, 5, 1)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Result:
        match self.kind:
            case "mean":
                return global_mean_pool(x, batch, size), 0.0
            case "gin":
                return global_add_pool(x, batch, size), 0.0
            case "set2set":
                return self.set2set(x, batch, dim_size=size), 0.0
            case "sagpool-global":
                x, _, _, kept, _, _ = self.sag(x, edge_index, batch=batch)
                return _both(x, kept, size), 0.0
            case "sortpool":
                rows = self.sort(x, batch, dim_size=size).view(size, self.num_rows, -1)
                return self.convolutions(rows), 0.0
            case "deepsets":
                return self.deepsets(x, batch, dim_size=size), 0.0
            case "set-transformer":
                return self.transformer(self.narrow(x), batch, dim_size=size), 0.0
            case "mempool":
                rows, s = self.first(x, batch)
                out, _ = self.last(nn.functional.leaky_relu(rows))
                return out[:, 0], 0.1 * MemPooling.kl_loss(s)
        raise AssertionError(self.kind)


class Global(nn.Module):
    """Three layers, concatenated, then a readout that is called as the network is."""

    def __init__(self, in_dim: int, width: int, readout: Readout, conv: Any = GCNConv) -> None:
        super().__init__()
        widths = (in_dim, width, width)
        self.convs = nn.ModuleList(conv(a, width) for a in widths)
        self.readout = readout
        self.out_dim = readout.out_dim

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Result:
        layers = []
        for conv in self.convs:
            x = torch.relu(conv(x, edge_index))
            layers.append(x)
        return self.readout(torch.cat(layers, 1), edge_index, batch, size)


class Selection(nn.Module):
    """Three blocks of layer, pooling and readout, the readouts summed."""

    def __init__(self, kind: str, in_dim: int, width: int) -> None:
        super().__init__()
        make = {
            "topk": lambda: TopKPooling(width, 0.25),
            "sagpool": lambda: SAGPooling(width, 0.25, GNN=GCNConv),
            "asap": lambda: ASAPooling(width, 0.25),
            "edgepool": lambda: EdgePooling(width),
        }[kind]
        self.kind = kind
        self.convs = nn.ModuleList(GCNConv(a, width) for a in (in_dim, width, width))
        self.pools = nn.ModuleList(make() for _ in range(3))
        self.out_dim = 2 * width

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Result:
        total: Tensor | float = 0.0
        weight = None
        for conv, pool in zip(self.convs, self.pools, strict=True):
            x = torch.relu(conv(x, edge_index, weight))
            if self.kind == "asap":
                x, edge_index, weight, batch, _ = pool(x, edge_index, weight, batch)
            elif self.kind == "edgepool":
                x, edge_index, batch, _ = pool(x, edge_index, batch)
            else:
                x, edge_index, _, batch, _, _ = pool(x, edge_index, batch=batch)
            total = total + _both(x, batch, size)
        assert isinstance(total, Tensor)
        return total, 0.0


class Clusters(nn.Module):
    """Layer, pooling, layer, pooling, layer on padded dense matrices; a mean after each layer."""

    def __init__(self, kind: str, in_dim: int, width: int, num_clusters: tuple[int, int]) -> None:
        super().__init__()
        self.kind = kind
        self.first = GCNConv(in_dim, width)
        self.convs = nn.ModuleList(DenseGCNConv(width, width) for _ in range(2))
        dense = DenseGCNConv if kind == "diffpool" else nn.Linear
        self.assign = nn.ModuleList(dense(width, k) for k in num_clusters)
        self.out_dim = 3 * width

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Result:
        x = torch.relu(self.first(x, edge_index))
        means = [global_mean_pool(x, batch, size)]
        x, mask = to_dense_batch(x, batch, batch_size=size)
        adjacency = to_dense_adj(edge_index, batch, max_num_nodes=x.shape[1], batch_size=size)
        losses: Tensor | float = 0.0
        for conv, assign in zip(self.convs, self.assign, strict=True):
            pool = dense_diff_pool if self.kind == "diffpool" else dense_mincut_pool
            s = assign(x, adjacency, mask) if self.kind == "diffpool" else assign(x)
            x, adjacency, one, other = pool(x, adjacency, s, mask)
            losses = losses + one + other
            mask = None
            x = torch.relu(conv(x, adjacency))
            means.append(x.mean(1))
        return torch.cat(means, 1), losses


def pyg_network(kind: str, in_dim: int, width: int, num_rows: int, later_rows: int) -> Any:
    """The peer of one of our methods, or None where PyG has no such operator."""
    if kind in ("topk", "sagpool", "asap", "edgepool"):
        return Selection(kind, in_dim, width)
    if kind in ("diffpool", "mincut"):
        return Clusters(kind, in_dim, width, (num_rows, later_rows))
    if kind in ("haarpool", "structpool", "gmt", "wl-svm"):
        return None
    conv = _gin if kind == "gin" else GCNConv
    return Global(in_dim, width, Readout(kind, 3 * width, width, num_rows), conv)
