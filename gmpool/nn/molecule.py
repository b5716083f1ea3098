"""Embeddings of categorical atoms and bonds, and the convolutions that read bonds."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.graph.edges import Edges
from gmpool.nn.two_layers import TwoLayers
from gmpool.ops import choice
from gmpool.ops.add_bias import affine
from gmpool.ops.bond_messages import bond_messages
from gmpool.ops.sparse import spmm


class MultiHotEmbedding(nn.Module):
    """The sum of one embedding per categorical column, as a product with multi-hot rows.

    rows [n, Σ sizes] -> [n, dim]. Each column's table is Glorot initialised on its own, as OGB's
    encoders do; the product has a dense backward, which a lookup has not.
    """

    def __init__(self, sizes: tuple[int, ...], dim: int) -> None:
        super().__init__()
        tables = [nn.init.xavier_uniform_(torch.empty(size, dim)) for size in sizes]
        self.weight = nn.Parameter(torch.cat(tables))

    def forward(self, rows: Tensor) -> Tensor:
        return rows @ self.weight


class BondConv(nn.Module):
    """GCN with bond embeddings, as OGB's baseline has it. x [N, D] -> [N, D]

    h = x W + b;  x'_i = Σ_{j→i} ReLU(h_j + e_ij) / √(d_i d_j)  +  ReLU(h_i + r) / d_i
    with e the bond's embedding, r a learned root vector and d one more than the degree.
    """

    def __init__(self, bond_sizes: tuple[int, ...], dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.root = nn.Parameter(torch.randn(dim))
        self.bonds = MultiHotEmbedding(bond_sizes, dim)

    def forward(self, x: Tensor, edges: Edges) -> Tensor:
        h = affine(x, self.linear.weight, self.linear.bias)
        kinds = _few_kinds(edges, h)
        if kinds is not None:
            # All of it is Â's: r is what its self-loops carry, and its weights are the scales.
            table, a = torch.cat([self.bonds(kinds), self.root[None]]), edges.gcn
            return bond_messages(a.pattern, h, table, _known(edges.gcn_code), a.weight)
        p = edges.plain.pattern
        degree = (p.t_rowptr[1:] - p.t_rowptr[:-1] + 1).to(x.dtype)  # [N]
        scale = degree.rsqrt()[:, None]
        # 1/√d_j belongs to the edge's source: it scales rows of edges, [E, D], by one column.
        source = edges.edge_index[0]
        message = torch.relu(spmm(edges.from_source, h) + self.bonds(_bonds_of(edges)))
        message = message * scale.index_select(0, source)
        return scale * spmm(edges.to_target, message) + torch.relu(h + self.root) / degree[:, None]


class BondGINConv(nn.Module):
    """GIN with bond embeddings, as OGB's baseline has it, without its batch norms. [N, D] -> [N, D]

    x'_i = MLP((1 + ε) x_i + Σ_{j→i} ReLU(x_j + e_ij)) with a learned ε that begins at 0.
    """

    def __init__(self, bond_sizes: tuple[int, ...], dim: int) -> None:
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = TwoLayers(dim, 2 * dim, dim)
        self.bonds = MultiHotEmbedding(bond_sizes, dim)

    def forward(self, x: Tensor, edges: Edges) -> Tensor:
        return self.mlp((1 + self.eps) * x + self._messages(x, edges))

    def _messages(self, x: Tensor, edges: Edges) -> Tensor:
        kinds = _few_kinds(edges, x)
        if kinds is not None:
            table, code = self.bonds(kinds), _known(edges.plain_code)
            return bond_messages(edges.plain.pattern, x, table, code)
        message = torch.relu(spmm(edges.from_source, x) + self.bonds(_bonds_of(edges)))
        return spmm(edges.to_target, message)


BOND_CONVS: dict[str, Callable[[tuple[int, ...], int], nn.Module]] = {
    "gcn": BondConv,
    "gin": BondGINConv,
}


def _few_kinds(edges: Edges, x: Tensor) -> Tensor | None:
    """The kinds of bonds, [C, Σ sizes], where one operator does all with them: on a GPU, and for
    edges that know their kinds. Without them the convolutions read edge_attr, [E, Σ sizes]."""
    return edges.bond_kinds if choice.triton_serves(x) else None


def _known(code: Tensor | None) -> Tensor:
    assert code is not None
    return code


def _bonds_of(edges: Edges) -> Tensor:
    if edges.edge_attr is None:
        raise UserError("this convolution reads bonds, and the batch has no edge_attr")
    return edges.edge_attr
