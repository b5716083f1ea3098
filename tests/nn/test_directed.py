"""D-MPNN against its equations, bond by bond, and the laws that every encoder keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from every_edges import first_replica
from hypothesis import given
from hypothesis import strategies as st
from molecule_sets import (
    ATOM_SIZES,
    BOND_SIZES,
    Molecule,
    chain,
    molecule_lists,
    molecules,
    packed_molecules,
)
from torch import Tensor
from torch.nn.functional import relu

from gmpool.data import GraphBatch
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges
from gmpool.graph.edges import AnyEdges, Edges
from gmpool.graph.reads import batches_for, reads_of
from gmpool.nn.directed import DirectedEncoder

LAYERS = st.integers(1, 4)


def encoder_of(layers: int, state_dim: int | None = None) -> DirectedEncoder:
    torch.manual_seed(0)
    encoder = DirectedEncoder(ATOM_SIZES, BOND_SIZES, 5, num_layers=layers, state_dim=state_dim)
    return encoder.double()


def rows_of(molecule: Molecule) -> tuple[Tensor, Tensor, Tensor]:
    """As PyG has it: x [N, 4], edge_index [2, E] and edge_attr [E, 3], all directions."""
    atoms = torch.tensor(molecule.atoms, dtype=torch.int64).view(-1, 2)
    x = torch.eye(2)[atoms].flatten(1)
    bonds = torch.tensor(molecule.bonds, dtype=torch.int64).view(-1, 3)
    ends, kinds = bonds[:, :2].t(), torch.eye(2)[bonds[:, 2]]
    attr = torch.cat([kinds, torch.ones(len(kinds), 1)], dim=1)
    index = torch.cat([ends, ends.flip(0)], dim=1)
    return x.double(), index, attr.repeat(2, 1).double()


def by_hand(encoder: DirectedEncoder, molecule: Molecule) -> Tensor:
    """The equations with a loop for each sum."""
    x, index, attr = rows_of(molecule)
    bonds, half = index.t().tolist(), index.shape[1] // 2
    W, B, V = encoder.begin.weight.t(), encoder.bonds.weight.t(), encoder.atoms.weight.t()
    M, U, b = encoder.message.weight, encoder.end.weight, encoder.end.bias
    begun = [W @ x[i] + B @ attr[number] for number, (i, _) in enumerate(bonds)]
    h = [relu(state) for state in begun]
    for _ in range(encoder.num_layers - 1):
        new = []
        for number, (i, _) in enumerate(bonds):
            heard = torch.zeros(len(M)).double()
            for other, (_, end) in enumerate(bonds):
                if end == i and other != (number + half) % (2 * half):
                    heard = heard + h[other]
            new.append(relu(begun[number] + M @ heard))
        h = new
    atoms = []
    for i, row in enumerate(x):
        heard = sum((h[n] for n, (_, end) in enumerate(bonds) if end == i), torch.zeros(len(M)))
        atoms.append(relu(V @ row + U @ heard.double() + b))
    return torch.stack(atoms) if atoms else torch.zeros(0, 5).double()


def in_doubles(batch: GraphBatch) -> tuple[Tensor, AnyEdges]:
    batch.x = batch.x.double()
    if batch.edge_attr is not None:
        batch.edge_attr = batch.edge_attr.double()
    return batch.x, BatchEdges(batch)


@given(molecule=molecules(), layers=LAYERS, states=st.sampled_from([None, 3]))
def test_it_is_the_equations(molecule: Molecule, layers: int, states: int | None) -> None:
    """Of a batch of a set, and of edges that a user passes."""
    encoder = encoder_of(layers, states)
    expected, (x, index, attr) = by_hand(encoder, molecule), rows_of(molecule)
    torch.testing.assert_close(encoder(x, Edges(index, len(x), edge_attr=attr)), expected)
    batch = packed_molecules([molecule]).batch([0])
    torch.testing.assert_close(encoder(*in_doubles(batch)), expected)


@given(molecule=molecules(), data=st.data())
def test_atoms_and_bonds_have_no_order(molecule: Molecule, data: st.DataObject) -> None:
    encoder, (x, index, attr) = encoder_of(3), rows_of(molecule)
    order = data.draw(st.permutations(range(len(x))))
    other = molecule.renumbered(order)
    other = other._replace(bonds=data.draw(st.permutations(other.bonds)))
    plain = encoder(x, Edges(index, len(x), edge_attr=attr))
    x, index, attr = rows_of(other)
    if len(set(map(frozenset, index.t().tolist()))) < len(other.bonds):
        return  # of two bonds that join the same two atoms the first is the first one's way back
    shuffled = torch.tensor(data.draw(st.permutations(range(index.shape[1])))).long()
    found = encoder(x, Edges(index[:, shuffled], len(x), edge_attr=attr[shuffled]))
    torch.testing.assert_close(found, plain[list(order)])


@given(made=molecule_lists(), layers=LAYERS, data=st.data())
def test_a_batch_of_a_set_is_each_molecule_for_itself(
    made: list[Molecule], layers: int, data: st.DataObject
) -> None:
    """Whole, and in a batch of fixed shape that is filled up."""
    graphs, encoder = packed_molecules(made), encoder_of(layers)
    ids = data.draw(st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=4))
    expected = torch.cat([by_hand(encoder, made[i]) for i in ids])
    torch.testing.assert_close(encoder(*in_doubles(graphs.batch(ids))), expected)
    batches, chosen = batches_for(graphs, reads_of(encoder)), torch.tensor([[*ids, len(made)]])
    more = data.draw(st.integers(0, 3)) if graphs.num_edges else 0
    bounds = batches.bounds(chosen)
    fixed = first_replica(batches.make(chosen, bounds._replace(edges=bounds.edges + more)))
    assert (fixed.bond_kinds is None) == (graphs.bond_kinds is None) == (not graphs.num_edges)
    fixed = replace(fixed, x=fixed.x.double())
    if fixed.edge_attr is not None:
        fixed = replace(fixed, edge_attr=fixed.edge_attr.double())
    torch.testing.assert_close(encoder(fixed.x, BatchEdges(fixed))[: len(expected)], expected)


def test_what_it_was_made_with() -> None:
    encoder = DirectedEncoder(ATOM_SIZES, BOND_SIZES, 6, state_dim=4)
    assert (encoder.out_dim, encoder.num_layers, encoder.options["state_dim"]) == (6, 3, 4)
    assert encoder.message.weight.shape == (4, 4)
    assert encoder.message.bias is None
    assert encoder.end.weight.shape == (6, 4)
    assert DirectedEncoder(ATOM_SIZES, BOND_SIZES, 6).message.weight.shape == (6, 6)
    assert reads_of(encoder) == {"bonds", "back"}
    with pytest.raises(UserError, match="num_layers of dmpnn must be at least 1, got 0"):
        DirectedEncoder(ATOM_SIZES, BOND_SIZES, 6, num_layers=0)


def test_edges_that_it_cannot_read() -> None:
    encoder, (x, index, attr) = encoder_of(2), rows_of(chain(3, torch.tensor([0, 1])))
    with pytest.raises(UserError, match="edge_index has edges that go one way; add the reverse"):
        encoder(x, Edges(index[:, 1:], 3, edge_attr=attr[1:]))
    with pytest.raises(UserError, match="reads bonds, and the batch has no edge_attr"):
        encoder(x, Edges(index, 3))
    weight = torch.ones(4, dtype=torch.float64)
    with pytest.raises(UserError, match="read no edge_weight: leave it out"):
        encoder(x, Edges(index, 3, edge_weight=weight, edge_attr=attr))
    weighted = replace(
        packed_molecules([chain(3, torch.tensor([0, 1]))]), edge_weight=weight.float()
    )
    with pytest.raises(UserError, match="read no edge_weight: leave it out"):
        encoder(*in_doubles(weighted.batch([0])))
