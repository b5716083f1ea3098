"""Embeddings of categorical atoms and bonds, and the convolutions that read bonds."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.graph.edges import AnyEdges, incidence
from gmpool.nn.batch_norm import BatchNorm
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.two_layers import TwoLayers
from gmpool.ops import choice
from gmpool.ops.add_bias import affine
from gmpool.ops.bond_messages import bond_messages
from gmpool.ops.sparse import spmm


class MultiHotEmbedding(KeepsOptions):
    """The sum of one embedding per categorical column, as a product with multi-hot rows.

    rows [n, Σ sizes] -> [n, dim]. Each column's table is Glorot initialised on its own, as OGB's
    encoders do; the product has a dense backward, which a lookup has not.

    sizes: how many categories each column has.
    dim: width of the embeddings.
    """

    def __init__(self, sizes: tuple[int, ...], dim: int) -> None:
        super().__init__()
        tables = [nn.init.xavier_uniform_(torch.empty(size, dim)) for size in sizes]
        self.weight = nn.Parameter(torch.cat(tables))

    def forward(self, rows: Tensor) -> Tensor:
        return rows @ self.weight


class BondConv(KeepsOptions):
    """GCN with bond embeddings, as OGB's baseline has it. x [N, D] -> [N, D]

    h = x W + b;  x'_i = Σ_{j→i} ReLU(h_j + e_ij) / √(d_i d_j)  +  ReLU(h_i + r) / d_i
    with e the bond's embedding, r a learned root vector and d one more than the degree.

    bond_sizes: how many categories each column of the bonds has.
    dim: D.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"gcn_bonds"})

    def __init__(self, bond_sizes: tuple[int, ...], dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.root = nn.Parameter(torch.randn(dim))
        self.bonds = MultiHotEmbedding(bond_sizes, dim)

    def forward(self, x: Tensor, edges: AnyEdges) -> Tensor:
        h = affine(x, self.linear.weight, self.linear.bias)
        if by_kind(h) and (bonds := edges.gcn_bonds) is not None:
            # All of it is Â's: r is what its self-loops carry, and its weights are the scales.
            table, a = torch.cat([self.bonds(bonds.kinds), self.root[None]]), bonds.matrix
            return bond_messages(a.pattern, h, table, bonds.code, a.weight)
        p = edges.entries.pattern
        degree = (p.t_rowptr[1:] - p.t_rowptr[:-1] + 1).to(x.dtype)  # [N]
        scale = degree.rsqrt()[:, None]
        # 1/√d_j belongs to the edge's source: it scales rows of edges, [E, D], by one column.
        from_source, to_target = incidence(edges)
        message = torch.relu(spmm(from_source, h) + self.bonds(features_of(edges)))
        message = message * scale.index_select(0, from_source.col)
        return scale * spmm(to_target, message) + torch.relu(h + self.root) / degree[:, None]


class BondGINConv(KeepsOptions):
    """GIN with bond embeddings, as OGB's baseline has it. [N, D] -> [N, D]

    x'_i = MLP((1 + ε) x_i + Σ_{j→i} ReLU(x_j + e_ij)) with a learned ε that begins at 0.

    bond_sizes: how many categories each column of the bonds has.
    dim: D.
    batch_norm: whether the MLP has a batch norm before its ReLU, as in OGB's and GMT's code.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"bonds"})

    def __init__(self, bond_sizes: tuple[int, ...], dim: int, *, batch_norm: bool = False) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = TwoLayers(dim, 2 * dim, dim)
        self.bonds = MultiHotEmbedding(bond_sizes, dim)
        self.norm = BatchNorm(2 * dim) if batch_norm else None

    def forward(self, x: Tensor, edges: AnyEdges, *, counts: Tensor | None = None) -> Tensor:
        """counts [N]: the rows that count, for the norm; None: all."""
        rows = (1 + self.eps) * x + self._messages(x, edges)
        if self.norm is None:
            return self.mlp(rows)
        return self.mlp(rows, between=partial(self.norm, counts=counts))

    def _messages(self, x: Tensor, edges: AnyEdges) -> Tensor:
        if by_kind(x) and (bonds := edges.bonds) is not None:
            return bond_messages(bonds.matrix.pattern, x, self.bonds(bonds.kinds), bonds.code)
        from_source, to_target = incidence(edges)
        message = torch.relu(spmm(from_source, x) + self.bonds(features_of(edges)))
        return spmm(to_target, message)


BOND_CONVS: dict[str, Callable[[tuple[int, ...], int], nn.Module]] = {
    "gcn": BondConv,
    "gin": BondGINConv,
}


def by_kind(x: Tensor) -> bool:
    """Whether one operator does all with kinds of bonds: on a GPU, for edges that know their kinds.
    Else the convolutions read edge_attr, [E, Σ sizes]."""
    return choice.triton_serves(x)


def features_of(edges: AnyEdges) -> Tensor:
    if edges.edge_attr is None:
        raise UserError("this convolution reads bonds, and the batch has no edge_attr")
    return edges.edge_attr
