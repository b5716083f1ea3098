"""MolGAN's networks (De Cao & Kipf, 2018): a generator of graphs, and a critic of them.

A graph is one row of numbers: for each ordered pair of places the shares of the kinds of bonds, the
first that of none, then for each place the shares of the kinds of atoms. [n·n·T | n·E]
"""

from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from gmpool.graph import Segments
from gmpool.graph.relation_edges import RelationEdges
from gmpool.nn.conv import ConvFactory
from gmpool.nn.relational import RelationalConv
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.poolings import WideMean, parameters_of, pooling_of
from gmpool.tasks.generate.settings import MolGANConfig
from gmpool.tasks.readouts import OneSeed


class Generator(nn.Module):
    """An MLP from noise to the scores of every bond and atom. [B, Z] -> [B, n, n, T], [B, n, E]"""

    def __init__(self, alphabet: Alphabet, config: MolGANConfig) -> None:
        super().__init__()
        self.alphabet = alphabet
        d, n = config.generator_dim, alphabet.places
        self.layers = nn.Sequential(
            nn.Linear(config.latent_dim, d), nn.Tanh(),
            nn.Linear(d, 2 * d), nn.Tanh(),
            nn.Linear(2 * d, 4 * d), nn.Tanh(),
        )  # fmt: skip
        self.bonds = nn.Linear(4 * d, n * n * alphabet.bond_kinds)
        self.atoms = nn.Linear(4 * d, n * alphabet.atom_kinds)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        n, h = self.alphabet.places, self.layers(z)
        bonds = self.bonds(h).unflatten(1, (n, n, -1))
        return (bonds + bonds.transpose(1, 2)) / 2, self.atoms(h).unflatten(1, (n, -1))


class Critic(nn.Module):
    """Two relational convolutions, gated rows, a pooling and an MLP: one number per graph.

    h' = tanh(W_s h + Σ_t A_t W_t h) ,  g_v = σ(i[h_v, x_v]) ⊙ tanh(j[h_v, x_v])
    """

    def __init__(self, alphabet: Alphabet, config: MolGANConfig) -> None:
        super().__init__()
        self.alphabet = alphabet
        E, T, d = alphabet.atom_kinds, len(alphabet.bonds), config.conv_dim
        self.first = RelationalConv(E, d, relations=T)
        self.second = RelationalConv(d + E, d // 2, relations=T)
        pooling = pooling_of(config.method)
        width = config.pool_dim
        if pooling is WideMean:
            width = _as_large_as_gmpool(width, d // 2 + E, T)
        self.gates = nn.Linear(d // 2 + E, 2 * width)
        self.pooling = pooling(width, conv=_conv(T), **config.pool)
        self.head = _head(self.pooling.out_dim)

    def forward(self, graphs: Tensor) -> Tensor:
        """[B, F] -> [B]"""
        return self.scored(graphs)[0]

    def scored(
        self, graphs: Tensor, counted: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """(scores [B], the pooling's own losses). counted [B]: 1 for a graph that these are of."""
        n, B = self.alphabet.places, graphs.shape[0]
        pairs = n * n * self.alphabet.bond_kinds
        bonds = graphs[:, :pairs].unflatten(1, (n, n, -1))[..., 1:]  # [B, n, n, T]
        edges = RelationEdges(bonds.permute(0, 3, 1, 2))
        x = graphs[:, pairs:].reshape(B * n, -1)  # [B·n, E]
        h = torch.tanh(self.first(x, edges))
        h = torch.tanh(self.second(torch.cat([h, x], dim=1), edges))
        gate, value = self.gates(torch.cat([h, x], dim=1)).chunk(2, dim=1)
        segments = Segments.uniform(B, n, graphs.device, counted)
        vectors, losses = self.pooling(torch.sigmoid(gate) * torch.tanh(value), edges, segments)
        return cast(Tensor, self.head(vectors))[:, 0], losses


HEAD = (128, 64)


def _head(in_dim: int) -> nn.Sequential:
    first, second = HEAD
    return nn.Sequential(
        nn.Linear(in_dim, first), nn.Tanh(), nn.Linear(first, second), nn.Tanh(),
        nn.Linear(second, 1),
    )  # fmt: skip


def _conv(relations: int) -> ConvFactory:
    return partial(RelationalConv, relations=relations)


def _as_large_as_gmpool(dim: int, in_dim: int, relations: int) -> int:
    """How wide rows must be that their gates and the head's first layer have the parameters of
    those of width dim and of GMPool_1. in_dim: of the gates."""
    with torch.device("meta"):
        pooling = parameters_of(OneSeed(dim, conv=_conv(relations), num_heads=1))
    return dim + round(pooling / (2 * (in_dim + 1) + HEAD[0]))
