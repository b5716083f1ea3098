"""The edges of a batch as sparse matrices that convolutions multiply with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.ops.grouped import collect
from gmpool.ops.row_ids import inverse, stable_order
from gmpool.ops.segment import Segments, segment_sum
from gmpool.ops.sparse import Pattern, spmm


@dataclass(frozen=True)
class Adjacency:
    """A sparse N × N matrix: row i lists the sources j of the edges j -> i."""

    pattern: Pattern
    weight: Tensor | None  # [E]; None is all ones

    def matmul(self, x: Tensor) -> Tensor:
        """[N, D] -> [N, D]"""
        return spmm(self.pattern, x, self.weight)

    def squares(self, num_nodes: int) -> Tensor:
        """Σ_j A_ij² of each row. [N, 1]"""
        rowptr, weight = self.pattern.rowptr, self.weight
        if weight is None:
            return (rowptr[1:] - rowptr[:-1])[:, None]
        ones = torch.ones(num_nodes, 1, dtype=weight.dtype, device=weight.device)
        return spmm(self.pattern, ones, weight.square())

    @property
    def transposed(self) -> Adjacency:
        weight, to_t = self.weight, self.pattern.to_t
        if weight is not None and to_t is not None:
            weight = weight.index_select(0, to_t)
        return Adjacency(self.pattern.transposed, weight)

    @classmethod
    def from_edge_index(
        cls, edge_index: Tensor, num_nodes: int, weight: Tensor | None = None
    ) -> tuple[Adjacency, Tensor]:
        """The matrix, and which edge each of its entries is. Two sorts: by target for the matrix,
        by source for its transpose."""
        source, target = edge_index[0], edge_index[1]
        by_target = stable_order(target, num_nodes)
        by_source = stable_order(source, num_nodes)
        to_t = inverse(by_target).index_select(0, by_source)
        pattern = Pattern(
            _offsets(target, num_nodes),
            source.index_select(0, by_target),
            _offsets(source, num_nodes),
            target.index_select(0, by_source),
            to_t=to_t,
            from_t=inverse(to_t),
        )
        return cls(
            pattern, None if weight is None else weight.index_select(0, by_target)
        ), by_target


def _offsets(ids: Tensor, num_nodes: int) -> Tensor:
    """How many ids are smaller than 0, 1, …, n. [n+1]"""
    ones = torch.ones_like(ids)
    counts = torch.zeros(num_nodes + 1, dtype=ids.dtype, device=ids.device)
    return counts.index_add(0, ids + 1, ones).cumsum(0)


def gcn_edges(
    edge_index: Tensor, num_nodes: int, weight: Tensor | None, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """D^-1/2 (A + I) D^-1/2 as (edge_index [2, E+N], weight [E+N]), D the weighted in-degree.

    A node that has a self-loop keeps that loop's weight instead of gaining one of 1, as PyG's
    gcn_norm does. Shapes depend on E and N alone, so that the function can be compiled.
    """
    device = edge_index.device
    source, target = edge_index[0], edge_index[1]
    if weight is None:
        weight = torch.ones(source.shape[0], dtype=dtype, device=device)
    is_loop = source == target
    # Loops are written to their node's slot, every other edge to the spare slot N.
    slot = torch.where(is_loop, source, num_nodes)
    loop = torch.ones(num_nodes + 1, dtype=weight.dtype, device=device).scatter(0, slot, weight)
    nodes = torch.arange(num_nodes, device=device)
    both = torch.cat([edge_index, torch.stack([nodes, nodes])], dim=1)  # [2, E+N]
    w = torch.cat([weight.masked_fill(is_loop, 0.0), loop[:num_nodes]])  # [E+N]
    degree = torch.zeros(num_nodes, dtype=w.dtype, device=device).index_add(0, both[1], w)
    scale = torch.where(degree > 0, degree.clamp(min=torch.finfo(w.dtype).tiny).rsqrt(), 0.0)
    return both, scale.index_select(0, both[0]) * w * scale.index_select(0, both[1])


class Edges:
    """The edges of a ragged batch, in the two forms that convolutions ask for, each made once."""

    bond_kinds: Tensor | None = None
    """[C, Σ sizes]: the distinct rows of edge_attr, where it is known which of them each entry of
    the two matrices has, and that it has the same seen from both ends."""
    plain_code: Tensor | None = None
    """[E]"""
    gcn_code: Tensor | None = None
    """[E + N]; self-loops have code C."""

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
        plain: Adjacency | None = None,
        gcn: Adjacency | None = None,
    ) -> None:
        """`plain` and `gcn` are given by who has them made already, from edges sorted by target."""
        self.edge_index, self.num_nodes = edge_index, num_nodes
        self.edge_weight, self.edge_attr, self.dtype = edge_weight, edge_attr, dtype
        self._plain, self._gcn = plain, gcn
        self._by_target: Tensor | None = None  # None: edges are sorted by target

    @classmethod
    def of(
        cls,
        edge_index: Tensor | Edges,
        num_nodes: int,
        dtype: torch.dtype,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Edges:
        """From what a user passes: a [2, E] tensor, or Edges made before."""
        if isinstance(edge_index, Edges):
            if edge_weight is not None or edge_attr is not None:
                raise UserError(
                    "edge_weight and edge_attr belong inside Edges when Edges is passed"
                )
            return edge_index
        if edge_index.dim() != 2 or edge_index.shape[0] != 2:
            raise UserError(f"edge_index must be [2, E], got {tuple(edge_index.shape)}")
        if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
            raise UserError(
                f"edge_weight must have one entry per edge, shape ({edge_index.shape[1]},), "
                f"got {tuple(edge_weight.shape)}"
            )
        return cls(edge_index, num_nodes, edge_weight=edge_weight, edge_attr=edge_attr, dtype=dtype)

    @property
    def plain(self) -> Adjacency:
        """A, with the edge weights where there are any."""
        if self._plain is None:
            self._plain, self._by_target = Adjacency.from_edge_index(
                self.edge_index, self.num_nodes, self.edge_weight
            )
        return self._plain

    @property
    def gcn(self) -> Adjacency:
        """D^-1/2 (A + I) D^-1/2."""
        if self._gcn is None:
            both, weight = gcn_edges(self.edge_index, self.num_nodes, self.edge_weight, self.dtype)
            self._gcn, _ = Adjacency.from_edge_index(both, self.num_nodes, weight)
        return self._gcn

    @property
    def from_source(self) -> Pattern:
        """The E × N matrix that gives each edge the row of its source."""
        p, E = self.plain.pattern, self.edge_index.shape[1]
        assert p.to_t is not None
        edges = p.to_t if self._by_target is None else self._by_target.index_select(0, p.to_t)
        one_each = torch.arange(E + 1, device=p.col.device)
        return Pattern(one_each, self.edge_index[0], p.t_rowptr, edges)

    @property
    def to_target(self) -> Pattern:
        """The N × E matrix that sums the rows of edges into their targets."""
        p, E = self.plain.pattern, self.edge_index.shape[1]
        place = torch.arange(E + 1, device=p.col.device)
        edges = place[:-1] if self._by_target is None else self._by_target
        return Pattern(p.rowptr, edges, place, self.edge_index[1])

    def squared_sum(self, segments: Segments) -> Tensor:
        """Σ A_ij² of each graph. [B]"""
        rows = self.plain.squares(self.num_nodes).to(self.dtype)
        return segment_sum(rows, segments)[:, 0]

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        """A' = Cᵀ A C per graph, by one spmm and one collect: O(E·K + N·K²), nothing n × n."""
        return CoarseEdges(collect(c[:, None], self.plain.matmul(c), segments)[0])


@dataclass(frozen=True)
class BlockDiagonal:
    """B dense K × K blocks acting on B·K rows."""

    blocks: Tensor  # [B, K, K]

    def matmul(self, x: Tensor) -> Tensor:
        B, K, _ = self.blocks.shape
        return torch.bmm(self.blocks, x.view(B, K, -1)).view(B * K, -1)


class CoarseEdges:
    """The coarsened graphs after a pooling to K nodes: exactly K rows per graph, so dense."""

    edge_attr = None

    def __init__(self, blocks: Tensor) -> None:
        self.blocks = blocks  # [B, K, K]; entry (k, l) is the weight of l -> k

    @property
    def plain(self) -> BlockDiagonal:
        return BlockDiagonal(self.blocks)

    @property
    def gcn(self) -> BlockDiagonal:
        """D^-1/2 (A' + I) D^-1/2: a coarse node's own weight stays and gains the loop of A + I."""
        K = self.blocks.shape[1]
        a = self.blocks + torch.eye(K, dtype=self.blocks.dtype, device=self.blocks.device)
        scale = a.sum(2).clamp(min=torch.finfo(a.dtype).tiny).rsqrt()
        return BlockDiagonal(scale[:, :, None] * a * scale[:, None, :])

    @property
    def edge_index(self) -> Tensor:
        """All K·K pairs of each graph, for a convolution of the user's. [2, B·K·K]"""
        B, K, _ = self.blocks.shape
        row = torch.arange(B * K, device=self.blocks.device)
        target = row.repeat_interleave(K)
        source = row.view(B, 1, K).expand(B, K, K).flatten()
        return torch.stack([source, target])

    @property
    def edge_weight(self) -> Tensor:
        return self.blocks.flatten()

    def squared_sum(self, segments: Segments) -> Tensor:
        """Σ A_ij² of each graph. [B]"""
        return self.blocks.square().sum((1, 2))

    def coarsened(self, c: Tensor, segments: Segments) -> CoarseEdges:
        B, K, _ = self.blocks.shape
        dense = c.view(B, K, -1)
        return CoarseEdges(dense.transpose(1, 2) @ self.blocks @ dense)
