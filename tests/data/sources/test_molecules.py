from __future__ import annotations

import sys

import pytest
import torch

from gmpool.data import from_smiles
from gmpool.data.sources.atom_types import AtomTypePacker
from gmpool.data.sources.molecules import (
    ATOM_SIZES,
    BOND_SIZES,
    MOST_ATOMS,
    BadSmiles,
    MoleculePacker,
)
from gmpool.errors import DataError, MissingPackage


def test_features_of_a_known_molecule() -> None:
    graphs = from_smiles(["C/C=C/[O-]"]).validate()
    assert graphs.cat_sizes == ATOM_SIZES == (119, 5, 12, 12, 10, 6, 6, 2, 2)
    assert graphs.edge_cat_sizes == BOND_SIZES == (5, 6, 2)
    batch = graphs.batch([0])
    # atomic number - 1, chirality, degree, charge + 5, hydrogens, radicals, SP2 = 1 / SP3 = 2, ...
    assert batch.node_cat.tolist() == [
        [5, 0, 4, 5, 3, 0, 2, 0, 0],
        [5, 0, 3, 5, 1, 0, 1, 0, 0],
        [5, 0, 3, 5, 1, 0, 1, 0, 0],
        [7, 0, 1, 4, 0, 0, 1, 0, 0],
    ]
    assert batch.edge_index.tolist() == [[1, 0, 2, 1, 3, 2], [0, 1, 1, 2, 2, 3]]
    assert batch.edge_cat[::2].tolist() == [[0, 0, 0], [1, 2, 1], [0, 0, 1]]  # 1 -> 2: double, E
    assert graphs.graph_names == ("C/C=C/[O-]",)
    assert graphs.symmetric
    assert batch.x.sum(1).tolist() == [9.0] * 4
    assert batch.edge_attr.sum(1).tolist() == [3.0] * 6


def test_other_values_take_the_last_place() -> None:
    graphs = from_smiles(["*[C@H](F)Cl", "c1ccccc1", "[CH3]", "[Fe+6]"])
    cat = graphs.batch([0]).node_cat
    assert cat[0, 0] == 118  # no element
    assert cat[1, 1] in (1, 2)
    benzene = graphs.batch([1])
    assert benzene.node_cat[:, 7:].tolist() == [[1, 1]] * 6
    assert benzene.edge_cat.tolist() == [[3, 0, 1]] * 12
    assert graphs.batch([2]).node_cat[0, 5] == 1  # one radical electron
    assert graphs.batch([3]).node_cat[0, 3] == 11  # charge beyond 5


def test_odd_valence_is_accepted_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    graphs = from_smiles(["F[B](F)(F)(F)F", "CC"])
    assert graphs.sizes.tolist() == [6, 2]
    assert capfd.readouterr().err == ""


def test_bad_smiles_are_listed_with_their_row(capfd: pytest.CaptureFixture[str]) -> None:
    message = r"2 of 4 SMILES cannot be read:\n  row 1: cannot parse SMILES 'C\(C'\n  row 3: the SM"
    with pytest.raises(DataError, match=message):
        from_smiles(["CC", "C(C", "O", ""])
    with pytest.raises(DataError, match="row 0: not a possible molecule 'c1cccc1'"):
        from_smiles(["c1cccc1"])
    with pytest.raises(DataError, match="no SMILES given"):
        from_smiles([])
    with pytest.raises(DataError, match="1 labels for 2 SMILES"):
        from_smiles(["C", "CC"], [1])
    assert capfd.readouterr().err == ""


def test_labels() -> None:
    binary = from_smiles(["C", "CC"], [[0, 1], [float("nan"), 1]], task_names=["a", "b"])
    assert (binary.task, binary.task_names, binary.num_outputs) == ("binary", ("a", "b"), 2)
    assert binary.y.dtype == torch.float32
    assert from_smiles(["C", "CC", "O"], [3, 1, 2]).y.tolist() == [2, 0, 1]
    assert from_smiles(["C", "CC"], [3.5, 1]).task == "regression"
    with pytest.raises(DataError, match="graph 1, y0: label 2 is not 0, 1 or missing"):
        from_smiles(["C", "CC"], [0, 2], task="binary")
    with pytest.raises(DataError, match="multiclass needs one label column"):
        from_smiles(["C"], [[0, 2]], task="multiclass")
    with pytest.raises(DataError, match="graph 1 has no label"):
        from_smiles(["C", "CC"], [0, float("nan")], task="multiclass")


def test_without_rdkit_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingPackage, match=r"gmpool\[chem\]"):
        from_smiles(["C"])


def test_impossible_valences_are_refused_except_where_ogb_has_them() -> None:
    with pytest.raises(DataError, match=r"not a possible molecule 'C\(C\)\(C\)\(C\)\(C\)C'"):
        from_smiles(["CC", "C(C)(C)(C)(C)C"])
    assert from_smiles(["F[B](F)(F)(F)F"]).num_nodes == 6


PACKERS = pytest.mark.parametrize("kind", [MoleculePacker, AtomTypePacker])


@PACKERS
@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("[#119]", "'#119' is beyond what an atom can have"),
        ("[#256]", "'#256' is beyond"),  # a byte would make it atom 0
        ("[CH256]", "'H256' is beyond"),
        ("[C+200]", r"'\+200' is beyond"),
        ("C" * 20_000, "20,000 characters and 20,000 atoms, where at most 20,000 and 2,000"),
        ("C" * (MOST_ATOMS + 1), "2,001 atoms"),
        ("C1" + "(=O)" * 6_000, "24,002 characters"),
        ("[C:1]" * 4_001, "4,001 atoms"),
        ("C\0C", r"cannot parse SMILES 'C\\x00C'"),
        ("\ud800", r"'\\ud800'"),
        (".", "cannot parse SMILES '.'"),
        ("", "the SMILES is empty"),
        (None, "None is no SMILES"),
    ],
)
def test_what_rdkit_cannot_take_is_a_bad_smiles(
    kind: type[MoleculePacker], smiles: str, message: str
) -> None:
    packer = kind()
    with pytest.raises(BadSmiles, match=message) as caught:
        packer.add(smiles)
    assert len(str(caught.value)) < 500
    assert packer.smiles == []


@PACKERS
def test_large_molecules_salts_and_unknown_atoms_are_read(kind: type[MoleculePacker]) -> None:
    packer = kind()
    for smiles in ("C" * MOST_ATOMS, "[Na+].[Cl-]", "*CC", "[#118]", "[C:1234]"):
        packer.add(smiles)
    assert packer.finish("all").validate().sizes.tolist() == [MOST_ATOMS, 2, 3, 1, 1]


@pytest.mark.parametrize("error", [RuntimeError, OverflowError, ValueError])
def test_whatever_rdkit_raises_is_a_bad_smiles(error: type[Exception]) -> None:
    class Broken(MoleculePacker):
        def _atom_features(self, molecule: object) -> bytes:
            raise error("Pre-condition Violation\n\tAtomic number not found\n\tFile: x.h")

    with pytest.raises(BadSmiles, match="molecule 'C': Atomic number not found"):
        Broken().add("C")
