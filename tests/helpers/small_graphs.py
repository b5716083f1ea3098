"""Small sets without labels, to be reconstructed."""

from __future__ import annotations

import torch
from small_sets import rings_and_paths

from gmpool.data import PackedGraphs
from gmpool.data.pack import pack


def atoms(count: int = 24, types: int = 4) -> PackedGraphs:
    """Rings and paths whose nodes have one of some types."""
    return _set(count, types)


def points(count: int = 24) -> PackedGraphs:
    """Rings and paths whose nodes have three numbers."""
    return _set(count, None)


def _set(count: int, types: int | None) -> PackedGraphs:
    graphs = rings_and_paths(count)
    sizes = torch.tensor([len(g.x) for g in graphs])
    first = sizes.cumsum(0) - sizes
    edges = torch.cat([g.edge_index + start for g, start in zip(graphs, first, strict=True)], 1)
    x = torch.cat([g.x for g in graphs])
    features = (
        {"node_float": x}
        if types is None
        else {"node_cat": (x[:, :1].abs() * 3).long().clamp(max=types - 1), "cat_sizes": (types,)}
    )
    return pack(name="small", sizes=sizes, source=edges[0], target=edges[1], **features)
