"""The matrices that layers multiply with: sparse ones, scalings around them, bits, dense blocks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.ops.dense_product import DenseGraphs, dense_product
from gmpool.ops.row_ids import inverse, stable_order
from gmpool.ops.sparse import Pattern, spmm


@dataclass(frozen=True)
class SparseMatrix:
    """A list of entries: row i lists the sources j of the edges j -> i."""

    pattern: Pattern
    weight: Tensor | None  # [E]; None is all ones

    @property
    def num_rows(self) -> int:
        return self.pattern.rowptr.shape[0] - 1

    @property
    def edge_index(self) -> Tensor:
        """Sources and targets, as in PyG. [2, E]"""
        return torch.stack([self.pattern.col.long(), self.pattern.rows])

    def matmul(self, x: Tensor) -> Tensor:
        return spmm(self.pattern, x, self.weight)

    def squares(self) -> Tensor:
        """Σ_j A_ij² of each row. [N, 1]"""
        rowptr, weight = self.pattern.rowptr, self.weight
        if weight is None:
            return (rowptr[1:] - rowptr[:-1])[:, None]
        ones = torch.ones(self.num_rows, 1, dtype=weight.dtype, device=weight.device)
        return spmm(self.pattern, ones, weight.square())

    @property
    def transposed(self) -> SparseMatrix:
        weight, to_t = self.weight, self.pattern.to_t
        if weight is not None and to_t is not None:
            weight = weight.index_select(0, to_t)
        return SparseMatrix(self.pattern.transposed, weight)

    @property
    def learns(self) -> bool:
        return self.weight is not None and self.weight.requires_grad

    @classmethod
    def from_edge_index(
        cls, edge_index: Tensor, num_nodes: int, weight: Tensor | None = None
    ) -> tuple[SparseMatrix, Tensor]:
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
        weight = None if weight is None else weight.index_select(0, by_target)
        return cls(pattern, weight), by_target


def _offsets(ids: Tensor, num_nodes: int) -> Tensor:
    """How many ids are smaller than 0, 1, …, n. [n+1]"""
    ones = torch.ones_like(ids)
    counts = torch.zeros(num_nodes + 1, dtype=ids.dtype, device=ids.device)
    return counts.index_add(0, ids + 1, ones).cumsum(0)


@dataclass(frozen=True)
class ScaledMatrix:
    """D^-1/2 (A + L) D^-1/2 as two scalings around A, with L a loop where a node has none."""

    entries: SparseMatrix
    loop: Tensor  # [N, 1]
    scale: Tensor  # D^-1/2, [N, 1]

    @classmethod
    def of(cls, entries: SparseMatrix, dtype: torch.dtype) -> ScaledMatrix:
        pattern, weight, N = entries.pattern, entries.weight, entries.num_rows
        # Loops write to their node's slot, every other entry to the spare slot N.
        slot = torch.where(pattern.rows == pattern.col, pattern.col, N).long()
        loop = torch.ones(N + 1, dtype=dtype, device=slot.device).scatter(0, slot, 0.0)
        loop = loop[:N, None]
        if weight is None:
            degree = (pattern.rowptr[1:] - pattern.rowptr[:-1]).to(dtype)[:, None]
        else:
            degree = spmm(pattern, loop.new_ones(N, 1), weight)
        degree = degree + loop
        positive = degree > 0
        scale = torch.where(positive, torch.where(positive, degree, 1.0).rsqrt(), 0.0)
        return cls(entries, loop, scale)

    def matmul(self, x: Tensor) -> Tensor:
        scale = self.scale.to(x.dtype)
        z = scale * x
        return scale * (self.entries.matmul(z) + self.loop.to(x.dtype) * z)

    @property
    def transposed(self) -> ScaledMatrix:
        return ScaledMatrix(self.entries.transposed, self.loop, self.scale)

    @property
    def learns(self) -> bool:
        return self.scale.requires_grad


@dataclass(frozen=True)
class BitMatrix:
    """A or Â of dense graphs, a bit for each pair of nodes: it multiplies, and lists no entries."""

    graphs: DenseGraphs
    num_nodes: int  # N
    scale: Tensor | None = None  # S of Â = S (A + I) S; None is A

    def matmul(self, x: Tensor) -> Tensor:
        return dense_product(self.graphs, x, self.scale)

    def squares(self) -> Tensor:
        """Σ_j A_ij² of each row: bits are their own squares. [N, 1]"""
        scale = None if self.scale is None else self.scale.square()
        ones = torch.ones(self.num_nodes, 1, device=self.graphs.words.device)
        return dense_product(self.graphs, ones, scale)

    @property
    def transposed(self) -> BitMatrix:
        return self

    @property
    def learns(self) -> bool:
        return False


@dataclass(frozen=True)
class BlockMatrix:
    """B dense K × K blocks along the diagonal, acting on B·K rows."""

    blocks: Tensor  # [B, K, K]

    def matmul(self, x: Tensor) -> Tensor:
        B, K, _ = self.blocks.shape
        D = x.shape[1]
        return torch.bmm(self.blocks, x.view(B, K, D)).view(B * K, D)

    @property
    def transposed(self) -> BlockMatrix:
        return BlockMatrix(self.blocks.transpose(1, 2))

    @property
    def learns(self) -> bool:
        return self.blocks.requires_grad
