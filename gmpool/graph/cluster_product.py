"""A' = S A Sᵀ for overlapping clusters: a weight for each pair of clusters, through all edges.

S [M, N] is sparse: row c holds how much of each node is in cluster c. With at most K clusters per
graph, Sᵀ is a ragged [N, K] table of each node's shares, A Sᵀ an spmm on it, and S (A Sᵀ) another:
O((E + nnz S) · K), with the gradients of spmm. When that table is too large, which needs graphs of
many thousand nodes, the product is one of sparse matrices.
"""

import torch
from torch import Tensor

from gmpool.graph.matrices import SparseMatrix
from gmpool.graph.merged import Slots
from gmpool.ops.row_ids import inverse
from gmpool.ops.segment import Segments
from gmpool.ops.selection import renumbering, true_before
from gmpool.ops.sparse import Pattern, spmm

# Entries of the [N, K] table: 256 MB of floats.
LARGE_TABLE = 2**26


def cluster_product(
    adjacency: SparseMatrix, clusters: Pattern, share: Tensor, rows: Segments, *, loops: bool
) -> SparseMatrix:
    """The M × M matrix A', its diagonal left out unless `loops`; with gradients in A and S.

    clusters [M, N] with share [nnz] is S; rows says which graph each of the M clusters is of.
    """
    N, width = clusters.t_rowptr.shape[0] - 1, int(rows.counts.max()) if rows.num_graphs else 0
    if N * width > LARGE_TABLE:
        return _sparse(adjacency, clusters, share, loops)
    slots, M = Slots.of(rows, width), rows.batch.shape[0]
    member = clusters.col.long() * width + slots.local.index_select(0, clusters.rows)
    shares = share.new_zeros(N * width).index_add(0, member, share).view(N, width)
    product = spmm(clusters, adjacency.matmul(shares), share).flatten()  # [M·K]
    filled = product.detach() != 0
    if not loops:
        c = torch.arange(M, device=filled.device)
        filled.index_fill_(0, slots.slot(c, c), False)
    pattern, full = slots.pattern(filled)
    return SparseMatrix(pattern, product.index_select(0, full))


def rows_of(pattern: Pattern, kept: Tensor) -> tuple[Pattern, Tensor]:
    """Some rows of a matrix, given ascending, and which entries they have. -> ([M, N], [nnz])"""
    p, N = pattern, pattern.rowptr.shape[0] - 1
    assert p.to_t is not None
    place = renumbering(kept, N)
    stays = place.index_select(0, p.rows) >= 0
    entries = stays.nonzero()[:, 0]
    counts = (p.rowptr[1:] - p.rowptr[:-1]).index_select(0, kept)
    rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    row = place.index_select(0, p.t_col)
    t_entries = (row >= 0).nonzero()[:, 0]
    t_rowptr = true_before(row >= 0).index_select(0, p.t_rowptr)
    to_t = true_before(stays).index_select(0, p.to_t.index_select(0, t_entries))
    t_col = row.index_select(0, t_entries)
    col = p.col.index_select(0, entries)
    return Pattern(rowptr, col, t_rowptr, t_col, to_t, inverse(to_t)), entries


def _sparse(adjacency: SparseMatrix, clusters: Pattern, share: Tensor, loops: bool) -> SparseMatrix:
    M, N = clusters.rowptr.shape[0] - 1, clusters.t_rowptr.shape[0] - 1
    p, weight = adjacency.pattern, adjacency.weight
    weight = share.new_ones(p.col.shape[0]) if weight is None else weight.to(share.dtype)
    a = _coo(p.rows, p.col, weight, (N, N))
    s, s_t = (
        _coo(clusters.rows, clusters.col, share, (M, N)),
        _coo(clusters.col, clusters.rows, share, (N, M)),
    )
    product = torch.sparse.mm(s, torch.sparse.mm(a, s_t)).coalesce()
    (target, source), value = product.indices(), product.values()
    if not loops:
        other = (target != source).nonzero()[:, 0]
        target, source, value = (t.index_select(0, other) for t in (target, source, value))
    return SparseMatrix.from_edge_index(torch.stack([source, target]), M, value)[0]


def _coo(row: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]) -> Tensor:
    index = torch.stack([row.long(), col.long()])
    return torch.sparse_coo_tensor(index, value, shape, check_invariants=False).coalesce()
