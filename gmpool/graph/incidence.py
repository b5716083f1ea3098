"""Edges as rows of their own: from the rows of nodes to those of edges, and back."""

from __future__ import annotations

import torch

from gmpool.graph.edges import AnyEdges
from gmpool.ops.sparse import Pattern


def incidence(edges: AnyEdges) -> tuple[Pattern, Pattern]:
    """(the E × N matrix that gives each edge the row of its source, the N × E matrix that sums the
    rows of edges into their targets)"""
    p, order, (source, target) = edges.entries.pattern, edges.order, edges.edge_index
    assert p.to_t is not None
    place = torch.arange(source.shape[0] + 1, device=p.col.device)
    by_source = p.to_t if order is None else order.index_select(0, p.to_t)
    by_target = place[:-1] if order is None else order
    return (
        Pattern(place, source, p.t_rowptr, by_source),
        Pattern(p.rowptr, by_target, place, target),
    )
