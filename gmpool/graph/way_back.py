"""Bonds in both directions: which entry of an adjacency is the way back of each."""

import torch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges, held
from gmpool.graph.edges import AnyEdges

_ONE_WAY = (
    "messages on directed bonds need every bond in both directions, and {} has edges that go one "
    "way; add the reverse of each edge, or take the convolution gcn or gin"
)


def way_back(edges: AnyEdges) -> Tensor:
    """For each entry i ← j of `edges.entries` the entry j ← i; the first of several that join the
    same two is the way back of the first, and so on. [E]"""
    pattern = edges.entries.pattern
    if isinstance(edges, BatchEdges):
        # Rows of a packed set are sorted by column too, and so are those of its transpose.
        if pattern.t_col is not pattern.col:
            raise UserError(_ONE_WAY.format("this set"))
        return held(pattern.to_t, "back")
    rows, col, n = pattern.rows, pattern.col.long(), edges.num_nodes
    there, back = (torch.sort(key, stable=True) for key in (rows * n + col, col * n + rows))
    if not torch.equal(there.values, back.values):
        raise UserError(_ONE_WAY.format("edge_index"))
    return torch.empty_like(there.indices).index_copy(0, there.indices, back.indices)
