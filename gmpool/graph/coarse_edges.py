"""The edges among the K rows that a pooling leaves of each graph."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.graph.matrices import BlockMatrix, SparseMatrix
from gmpool.ops.grouped import collect
from gmpool.ops.matrix import Matrix
from gmpool.ops.segment import Segments


class CoarseEdges:
    """The coarsened graphs after a pooling to K nodes: exactly K rows per graph, so dense."""

    order: Tensor | None = None
    edge_attr: Tensor | None = None
    bonds = gcn_bonds = None

    def __init__(self, blocks: Tensor) -> None:
        self.blocks = blocks  # [B, K, K]; entry (k, l) is the weight of l -> k

    @classmethod
    def of(cls, a: Matrix, c: Tensor, segments: Segments) -> CoarseEdges:
        """A' = Cᵀ A C per graph, by one product and one collect: O(E·K + N·K²), nothing n × n."""
        return cls(collect(c[:, None], a.matmul(c), segments)[0])

    @property
    def num_nodes(self) -> int:
        B, K, _ = self.blocks.shape
        return B * K

    @property
    def dtype(self) -> torch.dtype:
        return self.blocks.dtype

    @property
    def plain(self) -> BlockMatrix:
        return BlockMatrix(self.blocks)

    @property
    def gcn(self) -> BlockMatrix:
        """D^-1/2 (A' + I) D^-1/2: a coarse node's own weight stays and gains the loop of A + I."""
        K = self.blocks.shape[1]
        a = self.blocks + torch.eye(K, dtype=self.blocks.dtype, device=self.blocks.device)
        scale = a.sum(2).clamp(min=torch.finfo(a.dtype).tiny).rsqrt()
        return BlockMatrix(scale[:, :, None] * a * scale[:, None, :])

    @property
    def entries(self) -> SparseMatrix:
        return SparseMatrix.from_edge_index(self.edge_index, self.num_nodes, self.edge_weight)[0]

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
        dense = c.view(B, K, c.shape[1])
        return CoarseEdges(dense.transpose(1, 2) @ self.blocks @ dense)
