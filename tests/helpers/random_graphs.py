"""Small random sets for the laws, and the slow way to cut one graph out of a set."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg


@st.composite
def data_lists(draw: st.DrawFn, *, max_graphs: int = 5, simple: bool = False) -> list[Data]:
    """PyG graphs of 0 to 6 nodes, any direction and weight, with loops and parallel edges."""
    undirected, weighted, edge_labels = draw(st.tuples(*[st.booleans()] * 3))
    seed = draw(st.integers(0, 2**31 - 1))
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=max_graphs))
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for n in sizes:
        edges = draw(st.integers(0, 10)) if n else 0
        index = torch.randint(0, max(n, 1), (2, edges), generator=generator)
        weight = torch.randint(1, 5, (edges,), generator=generator) / 2
        label = torch.randint(0, 3, (edges, 1), generator=generator)
        if simple:
            index = index.unique(dim=1)
            weight, label = weight[: index.size(1)], label[: index.size(1)]
        if undirected:
            index = torch.cat([index, index.flip(0)], 1)
            weight, label = weight.repeat(2), label.repeat(2, 1)
            if simple:
                index = index.unique(dim=1)
                weight = 1.0 + (index.sum(0) % 3)
                label = label[: index.size(1)]
        data = Data(
            x=torch.randn(n, 2, generator=generator),
            edge_index=index,
            y=torch.randint(0, 3, (1,), generator=generator),
        )
        if weighted:
            data.edge_weight = weight
        if edge_labels:
            data.edge_attr = label
        graphs.append(data)
    return graphs


@st.composite
def packed_sets(draw: st.DrawFn) -> PackedGraphs:
    """Packed sets with numeric and categorical node features."""
    data = draw(data_lists())
    graphs = from_pyg(data)
    return graphs.with_degree_features() if draw(st.booleans()) else graphs


def slow_extract(graphs: PackedGraphs, g: int) -> dict[str, Any]:
    """Graph g by loops over nodes and edges: sources, targets, rows of the set."""
    start, end = int(graphs.node_ptr[g]), int(graphs.node_ptr[g + 1])
    edges = []
    for node in range(start, end):
        for position in range(int(graphs.row_ptr[node]), int(graphs.row_ptr[node + 1])):
            edges.append((int(graphs.col[position]), node - start, position))
    return {"nodes": list(range(start, end)), "edges": edges}


def dense(rowptr: Tensor, col: Tensor, weight: Tensor | None) -> Tensor:
    """[N, N] with entries of the same place added."""
    n = rowptr.numel() - 1
    row = torch.repeat_interleave(rowptr.diff())
    values = torch.ones(col.numel()) if weight is None else weight
    return torch.zeros(n, n).index_put((row, col), values, accumulate=True)
