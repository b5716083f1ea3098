"""Batches of small molecules as the critic reads them: one-hot graphs of one size."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
import torch
from few_molecules import few_molecules, molecule_set
from tiny_gan import ALPHABET, random_molecules
from torch import Tensor

from gmpool.data import Split
from gmpool.tasks.generate.alphabet import Alphabet


def by_loops(row: Tensor, alphabet: Alphabet) -> list[float]:
    """Place by place: for each ordered pair its kind of bond, then for each place its atom."""
    n, T, E = alphabet.places, alphabet.bond_kinds, alphabet.atom_kinds
    kinds = {pair: int(kind) for pair, kind in zip(combinations(range(n), 2), row[n:], strict=True)}
    found: list[float] = []
    for i in range(n):
        for j in range(n):
            kind = 0 if i == j else kinds[min(i, j), max(i, j)]
            found += [float(kind == t) for t in range(T)]
    for i in range(n):
        found += [float(int(row[i]) == e) for e in range(E)]
    return found


@pytest.mark.parametrize(
    "alphabet", [ALPHABET, Alphabet(2, ("C",), ("SINGLE",)), Alphabet(7, ("C", "N", "F"))]
)
def test_graphs_are_those_of_a_loop(alphabet: Alphabet) -> None:
    molecules = random_molecules(9, alphabet)
    ids = torch.tensor([8, 0, 3, 3])
    found = molecules.make(ids, ()).graphs
    assert found.tolist() == [by_loops(molecules.rows[i], alphabet) for i in ids]


def test_bonds_are_symmetric_one_hot_and_none_with_itself() -> None:
    n, T = ALPHABET.places, ALPHABET.bond_kinds
    graphs = random_molecules().make(torch.arange(40), ()).graphs
    bonds = graphs[:, : n * n * T].view(40, n, n, T)
    atoms = graphs[:, n * n * T :].view(40, n, ALPHABET.atom_kinds)
    assert torch.equal(bonds, bonds.transpose(1, 2))
    assert bonds.sum(-1).eq(1).all()
    assert atoms.sum(-1).eq(1).all()
    assert bonds.diagonal(dim1=1, dim2=2)[:, 0].eq(1).all(), "no bond with itself"
    assert bonds[..., 1:].sum() > 0


def test_many_replicas_are_each_alone() -> None:
    molecules = random_molecules()
    ids = torch.randint(40, (3, 5), generator=torch.Generator().manual_seed(0))
    together = molecules.make(ids, molecules.bounds(ids)).graphs
    assert together.shape[:2] == (3, 5)
    for row, mine in zip(ids, together, strict=True):
        assert torch.equal(mine, molecules.make(row, ()).graphs)
        for one, graph in zip(row, mine, strict=True):
            assert torch.equal(graph, molecules.make(one[None], ()).graphs[0])


def test_all_once_in_their_order_or_in_that_of_a_generator() -> None:
    molecules = random_molecules(11)
    ids = torch.arange(11)
    each = molecules.make(ids, ()).graphs
    in_order = [batch.graphs for batch in molecules.batches(ids, 4)]
    assert [len(part) for part in in_order] == [4, 4, 3]
    assert torch.equal(torch.cat(in_order), each)
    shuffled = torch.cat(
        [b.graphs for b in molecules.batches(ids, 4, torch.Generator().manual_seed(5))]
    )
    order = torch.randperm(11, generator=torch.Generator().manual_seed(5))
    assert torch.equal(shuffled, each[order])
    assert not torch.equal(shuffled, each)


def test_what_type_and_where_batches_are() -> None:
    molecules = few_molecules()
    assert molecules.make(torch.tensor([0]), ()).graphs.dtype == torch.float32
    double = replace(molecules, dtype=torch.float64)
    assert double.make(torch.tensor([0]), ()).graphs.dtype == torch.float64
    elsewhere = molecules.to("meta")
    assert elsewhere.rows.device.type == "meta"
    assert elsewhere.make(torch.zeros(4, dtype=torch.int64, device="meta"), ()).graphs.is_meta
    assert molecules.rows.device.type == "cpu", "as it was"


def test_a_batch_gives_its_tensors_and_takes_others() -> None:
    batch = random_molecules().make(torch.arange(3), ())
    assert batch.tensors().keys() == {"graphs"}
    half = batch.with_({"graphs": batch.graphs[:1]})
    assert torch.equal(half.graphs, batch.graphs[:1])


def test_identity_and_split() -> None:
    """Nothing is kept back; the number of no molecule is that after the last."""
    molecules = few_molecules()
    assert molecules.digest == molecule_set().digest
    assert few_molecules(["CC", "CN"]).digest != molecules.digest
    assert (len(molecules), molecules.empty) == (6, 6)
    ids = torch.arange(6)
    assert molecules.split.digest == Split(ids, ids[:0], ids[:0]).digest
    some = replace(molecules, train=torch.tensor([1, 4]))
    assert some.split.train.tolist() == [1, 4]
    assert some.split.valid.tolist() == some.split.test.tolist() == []
    assert some.split.digest != molecules.split.digest
