from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
import torch
from small_sets import TEN_MOLECULES, classes

from gmpool.data import from_smiles, load, load_table
from gmpool.data.molecule_groups import MoleculeGroups, atoms_and_bonds, numbered
from gmpool.data.splits import Split
from gmpool.errors import MissingPackage

pytest.importorskip("rdkit")
ODD = "C[Al](C)(C)(C)c1ccccc1"
"""RDKit refuses its valence."""
NO_SCAFFOLD = "O=C1O[Al]23(OC1=O)(OC(=O)C(=O)O2)OC(=O)C(=O)O3"


def test_one_molecule_written_in_many_ways_is_one_and_stereo_counts() -> None:
    smiles = ["OCC", "CCO", "C[C@H](N)O", "C[C@@H](N)O", "C(C)O", "CC(N)O", "F/C=C/F", "F/C=C\\F"]
    groups = MoleculeGroups(smiles)
    assert groups.molecules.tolist() == [0, 0, 1, 2, 0, 3, 4, 5]
    assert groups.repeated == 1
    assert len(groups) == 8


def test_scaffolds_and_what_has_none() -> None:
    smiles = ["CCO", "Cc1ccccc1", "CCl", "c1ccccc1CC", "C1CC1", ODD, NO_SCAFFOLD, NO_SCAFFOLD]
    groups = MoleculeGroups(smiles)
    assert groups.scaffolds.tolist() == [0, 1, 0, 1, 2, 1, 3, 3]
    assert groups.molecules.tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert not MoleculeGroups([]).molecules.numel()


def test_what_cannot_be_read_is_known_by_its_text() -> None:
    groups = MoleculeGroups(["no SMILES", "C", "no SMILES", "nor this"])
    assert groups.molecules.tolist() == groups.scaffolds.tolist() == [0, 1, 0, 2]


def test_a_molecule_in_several_parts_is_counted() -> None:
    groups = MoleculeGroups(["C", "N", "C", "N", "O"])
    ids = torch.arange(5)
    whole = Split(ids[[0, 2]], ids[[1, 3]], ids[[4]])
    assert groups.cut_by([]) == groups.cut_by([whole]) == 0
    assert groups.cut_by([Split(ids[:2], ids[2:3], ids[3:])]) == 2
    folds = [Split(ids[:0], ids[:0], ids[part]) for part in ([0, 1], [2], [3, 4])]
    assert groups.cut_by(folds) == 2
    assert MoleculeGroups(["C", "N", "O"]).cut_by([Split(ids[:1], ids[1:2], ids[2:3])]) == 0


def shuffled(smiles: str, seed: int) -> str:
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(smiles)
    order = list(range(molecule.GetNumAtoms()))
    random.Random(seed).shuffle(order)
    return str(Chem.MolToSmiles(Chem.RenumberAtoms(molecule, order), canonical=False))


def test_graphs_of_one_molecule_are_alike_in_whatever_order_their_atoms_are() -> None:
    smiles = [*TEN_MOLECULES, "CC(C)C(=O)O", "CCCC(=O)O", "C[C@H](N)C(=O)O", "O=c1[nH]cccc1Br"]
    again = [shuffled(text, seed) for seed in range(4) for text in smiles]
    groups = MoleculeGroups.of(from_smiles([*smiles, *again]))
    assert groups is not None
    assert groups.molecules.tolist() == [*range(14)] * 5
    assert groups._alike is not None
    assert len(groups._alike.unique()) == 14
    graphs = from_smiles(smiles)
    alike = atoms_and_bonds(graphs, (0, 2, 3, 4))
    assert len(alike.unique()) == len(smiles), "butanoic acids differ in bonds alone"
    by_number = atoms_and_bonds(from_smiles(["CC", "C=C", "CO"]), (0,))
    assert by_number[0] == by_number[1] != by_number[2]


def test_groups_are_known_of_molecules_alone() -> None:
    assert MoleculeGroups.of(classes(6)) is None
    graphs = load_table_types()
    groups = MoleculeGroups.of(graphs)
    assert groups is not None
    assert groups._alike is None
    assert groups.molecules.tolist() == [0, 1, 0]


def load_table_types():
    import pandas

    frame = pandas.DataFrame({"smiles": ["CO", "CN", "OC"]})
    return load_table(frame, atoms="types").graphs


@pytest.mark.data
@pytest.mark.parametrize("name", ["esol", "freesolv", "ogbg-molbbbp"])
def test_comparing_those_alone_that_are_alike_misses_none(name: str, data_root: Path) -> None:
    graphs = load(data_root / f"{name}.csv.gz").graphs
    quick, whole = MoleculeGroups.of(graphs), MoleculeGroups(graphs.graph_names or ())
    assert quick is not None
    assert torch.equal(quick.molecules, whole.molecules)
    assert sum(quick._alone()) > 0.8 * len(quick)


def test_names_are_numbered_as_they_appear() -> None:
    assert numbered(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert numbered([]).dtype == torch.int64


def test_without_rdkit_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    for what in ("molecules", "scaffolds"):
        with pytest.raises(MissingPackage, match=r"rdkit.*gmpool\[chem\]"):
            getattr(MoleculeGroups(["C"]), what)
