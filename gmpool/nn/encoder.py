"""Message passing before the pooling: layers whose outputs are concatenated (jumping knowledge)."""

from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from gmpool.errors import UserError, unknown
from gmpool.graph import AnyEdges, Columns, OneHot
from gmpool.nn.batch_norm import AFTER, check_place, norms_after
from gmpool.nn.conv import ConvFactory, GCNConv, GINConv, activated, make_conv
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.molecule import BOND_CONVS, BondGINConv, MultiHotEmbedding


class Encoder(KeepsOptions):
    """L convolutions with ReLU; x [N, in_dim] -> L blocks of [N, hidden_dim].

    in_dim: width of the nodes' features.
    hidden_dim: width of every layer.
    num_layers: L; with 0 there is no message passing, and one linear map of each row.
    conv: message passing: "gcn", "gin", or a factory `(in_dim, out_dim) -> Module`.
    batch_norm: where there are batch norms: "inside" the convolutions (gin), "after" each, "both".
    """

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        num_layers: int = 3,
        conv: str | ConvFactory = "gcn",
        batch_norm: str | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 0:
            raise UserError(f"num_layers must be 0 or more, got {num_layers}")
        check_place(batch_norm, conv, num_layers)
        factory = _gin if batch_norm not in (None, AFTER) else conv
        widths = [in_dim] + [hidden_dim] * num_layers
        self.convs = nn.ModuleList(make_conv(factory, a, b) for a, b in pairwise(widths))
        self.norms = norms_after(batch_norm, hidden_dim, num_layers)
        self.rows = None if num_layers else nn.Linear(in_dim, hidden_dim)
        self.out_dim = max(num_layers, 1) * hidden_dim

    def forward(self, x: Tensor | OneHot, edges: AnyEdges, counts: Tensor | None = None) -> Columns:
        """counts [N]: the rows that count, for batch norms; None: all."""
        if isinstance(x, OneHot) and not (self.convs and isinstance(self.convs[0], GCNConv)):
            x = x.dense
        if self.rows is not None:
            return Columns([self.rows(x)])
        layers: list[Tensor] = []
        propagated: list[Tensor] = []
        for conv, norm in zip(self.convs, self.norms or [None] * len(self.convs), strict=True):
            if isinstance(conv, GCNConv) and conv.propagates_first and isinstance(x, Tensor):
                z = edges.gcn.matmul(x)
                if layers:
                    propagated.append(z)
                x = conv.transform(z, relu=norm is None)
                x = x if norm is None else torch.relu(norm(x, counts))
            else:
                x = activated(conv, x, edges, norm, counts)
            layers.append(x)
        return Columns(layers, propagated)


def _gin(in_dim: int, out_dim: int) -> GINConv:
    return GINConv(in_dim, out_dim, batch_norm=True)


class MoleculeEncoder(KeepsOptions):
    """Atom embeddings, then L convolutions that read bond embeddings; jumping knowledge.

    x [N, Σ atom_sizes] and edge_attr [E, Σ bond_sizes] are multi-hot rows (GraphBatch makes them).

    atom_sizes, bond_sizes: how many categories each column of atoms and of bonds has.
    hidden_dim: width of the embeddings and of every layer.
    num_layers: L; with 0 the atom embeddings are the output.
    conv: message passing that reads bonds: "gcn" or "gin".
    batch_norm: where there are batch norms: "inside" the convolutions (gin), "after" each, "both".
    """

    def __init__(
        self,
        atom_sizes: tuple[int, ...],
        bond_sizes: tuple[int, ...],
        hidden_dim: int,
        *,
        num_layers: int = 3,
        conv: str = "gcn",
        batch_norm: str | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 0:
            raise UserError(f"num_layers must be 0 or more, got {num_layers}")
        if conv not in BOND_CONVS:
            raise unknown("convolution that reads bonds", conv, BOND_CONVS)
        check_place(batch_norm, conv, num_layers)
        self.atoms = MultiHotEmbedding(atom_sizes, hidden_dim)
        make = BOND_CONVS[conv]
        if batch_norm not in (None, AFTER):
            make = partial(BondGINConv, batch_norm=True)
        self.convs = nn.ModuleList(make(bond_sizes, hidden_dim) for _ in range(num_layers))
        self.norms = norms_after(batch_norm, hidden_dim, num_layers)
        self.out_dim = hidden_dim * max(num_layers, 1)

    def forward(self, x: Tensor, edges: AnyEdges, counts: Tensor | None = None) -> Columns:
        """counts [N]: the rows that count, for batch norms; None: all."""
        x = self.atoms(x)
        layers = []
        for conv, norm in zip(self.convs, self.norms or [None] * len(self.convs), strict=True):
            known = {"counts": counts} if isinstance(conv, BondGINConv) else {}
            rows = conv(x, edges, **known)
            x = torch.relu(rows if norm is None else norm(rows, counts))
            layers.append(x)
        return Columns(layers or [x])
