"""Messages on directed bonds, which do not come back the way they went (D-MPNN)."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from gmpool.errors import UserError
from gmpool.graph import AnyEdges
from gmpool.graph.distinct_bonds import BatchBonds, distinct_bonds
from gmpool.graph.way_back import way_back
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.nn.molecule import MultiHotEmbedding, features_of
from gmpool.ops.add_bias import add_bias
from gmpool.ops.directed_messages import directed_messages
from gmpool.ops.sparse import Pattern, spmm


class DirectedEncoder(KeepsOptions):
    """D-MPNN (Yang et al., 2019): each bond has a state in each direction, an atom hears those that
    come in. x [N, Σ atom_sizes] -> [N, hidden_dim]

    h_ij = ReLU(W x_i + B_ij), and L - 1 times h_ij ← ReLU(W x_i + B_ij + M Σ_{k≠j} h_ki);
    an atom becomes ReLU(V x_i + U Σ_k h_ki + b).

    atom_sizes, bond_sizes: how many categories each column of atoms and of bonds has.
    hidden_dim: width of atoms.
    num_layers: L, at least 1.
    state_dim: width of the states of bonds; none: hidden_dim.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"bonds", "back"})

    def __init__(
        self,
        atom_sizes: tuple[int, ...],
        bond_sizes: tuple[int, ...],
        hidden_dim: int,
        *,
        num_layers: int = 3,
        state_dim: int | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise UserError(f"num_layers of dmpnn must be at least 1, got {num_layers}")
        self.num_layers: int = num_layers
        states = hidden_dim if state_dim is None else state_dim
        self.begin = MultiHotEmbedding(atom_sizes, states)
        self.bonds = MultiHotEmbedding(bond_sizes, states)
        self.message = nn.Linear(states, states, bias=False)
        self.atoms = MultiHotEmbedding(atom_sizes, hidden_dim)
        self.end = nn.Linear(states, hidden_dim)
        self.out_dim = hidden_dim

    def forward(self, x: Tensor, edges: AnyEdges) -> Tensor:
        distinct = distinct_bonds(x, edges, self.num_layers)
        return self._each(x, edges) if distinct is None else self._once(x, distinct)

    def _once(self, x: Tensor, states: BatchBonds) -> Tensor:
        """Each distinct state is made once."""
        atoms = x.index_select(0, states.atoms)
        table = self.bonds(states.kinds.to(x.dtype))
        base = self.begin(atoms).index_select(0, states.begins)
        base = base + table.index_select(0, states.codes)  # [U_0, D]
        h = torch.relu(base)
        for heard in states.heard:
            h = torch.relu(spmm(heard, torch.cat([base, linear(h, self.message.weight)])))
        z = self.atoms(atoms).index_select(0, states.of_atom)
        z = add_bias(z + linear(spmm(states.ends, h), self.end.weight), self.end.bias, relu=True)
        return spmm(states.nodes, z)

    def _each(self, x: Tensor, edges: AnyEdges) -> Tensor:
        """A state for each bond in each direction."""
        if edges.entries.weight is not None:
            raise UserError("messages on directed bonds read no edge_weight: leave it out")
        back, known = way_back(edges), edges.bonds
        E = back.shape[0]
        place = torch.arange(E + 1, device=x.device)
        if known is not None:
            table, code = self.bonds(known.kinds.to(x.dtype)), known.code
        else:  # each bond is a kind of its own
            rows, order = features_of(edges), edges.order
            rows = rows if order is None else rows.index_select(0, order)
            table, code = self.bonds(rows), place[:-1]
        pattern = edges.entries.pattern
        index = pattern.rowptr, back
        own = self.begin(x)  # [N, D]
        h = directed_messages(own, table, code, None, *index)  # [E, D]
        for _ in range(self.num_layers - 1):
            h = directed_messages(own, table, code, linear(h, self.message.weight), *index)
        heard = spmm(Pattern(pattern.rowptr, place[:-1], place, pattern.rows), h)  # [N, D]
        z = self.atoms(x) + linear(heard, self.end.weight)
        return add_bias(z, self.end.bias, relu=True)
