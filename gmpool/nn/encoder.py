"""Message passing before the pooling: layers whose outputs are concatenated (jumping knowledge)."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from gmpool.errors import UserError, unknown
from gmpool.graph import AnyEdges, Columns, OneHot
from gmpool.nn.conv import ConvFactory, GCNConv, activated, make_conv
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.molecule import BOND_CONVS, MultiHotEmbedding


class Encoder(KeepsOptions):
    """L convolutions with ReLU; x [N, in_dim] -> L blocks of [N, hidden_dim].

    in_dim: width of the nodes' features.
    hidden_dim: width of every layer.
    num_layers: L; with 0 there is no message passing, and one linear map of each row.
    conv: message passing: "gcn", "gin", or a factory `(in_dim, out_dim) -> Module`.
    """

    def __init__(
        self, in_dim: int, hidden_dim: int, *, num_layers: int = 3, conv: str | ConvFactory = "gcn"
    ) -> None:
        super().__init__()
        if num_layers < 0:
            raise UserError(f"num_layers must be 0 or more, got {num_layers}")
        widths = [in_dim] + [hidden_dim] * num_layers
        self.convs = nn.ModuleList(make_conv(conv, a, b) for a, b in pairwise(widths))
        self.rows = None if num_layers else nn.Linear(in_dim, hidden_dim)
        self.out_dim = max(num_layers, 1) * hidden_dim

    def forward(self, x: Tensor | OneHot, edges: AnyEdges) -> Columns:
        if isinstance(x, OneHot) and not (self.convs and isinstance(self.convs[0], GCNConv)):
            x = x.dense
        if self.rows is not None:
            return Columns([self.rows(x)])
        layers: list[Tensor] = []
        propagated: list[Tensor] = []
        for conv in self.convs:
            if isinstance(conv, GCNConv) and conv.propagates_first and isinstance(x, Tensor):
                z = edges.gcn.matmul(x)
                if layers:
                    propagated.append(z)
                x = conv.transform(z, relu=True)
            else:
                x = activated(conv, x, edges)
            layers.append(x)
        return Columns(layers, propagated)


class MoleculeEncoder(KeepsOptions):
    """Atom embeddings, then L convolutions that read bond embeddings; jumping knowledge.

    x [N, Σ atom_sizes] and edge_attr [E, Σ bond_sizes] are multi-hot rows (GraphBatch makes them).

    atom_sizes, bond_sizes: how many categories each column of atoms and of bonds has.
    hidden_dim: width of the embeddings and of every layer.
    num_layers: L; with 0 the atom embeddings are the output.
    conv: message passing that reads bonds: "gcn" or "gin".
    """

    def __init__(
        self,
        atom_sizes: tuple[int, ...],
        bond_sizes: tuple[int, ...],
        hidden_dim: int,
        *,
        num_layers: int = 3,
        conv: str = "gcn",
    ) -> None:
        super().__init__()
        if num_layers < 0:
            raise UserError(f"num_layers must be 0 or more, got {num_layers}")
        if conv not in BOND_CONVS:
            raise unknown("convolution that reads bonds", conv, BOND_CONVS)
        self.atoms = MultiHotEmbedding(atom_sizes, hidden_dim)
        make = BOND_CONVS[conv]
        self.convs = nn.ModuleList(make(bond_sizes, hidden_dim) for _ in range(num_layers))
        self.out_dim = hidden_dim * max(num_layers, 1)

    def forward(self, x: Tensor, edges: AnyEdges) -> Columns:
        x = self.atoms(x)
        layers = []
        for conv in self.convs:
            x = torch.relu(conv(x, edges))
            layers.append(x)
        return Columns(layers or [x])
