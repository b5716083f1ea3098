from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import torch

from gmpool.data import PackedGraphs, from_smiles, load
from gmpool.data.sources.atom_types import AtomTypePacker
from gmpool.errors import DataError, MissingPackage
from gmpool.tasks.reconstruct.chemistry import MoleculeScores, molecule_scores

ALL_RIGHT = MoleculeScores(accuracy=100.0, validity=100.0, exact_types=100.0, exact_smiles=100.0)


def packed(*smiles: str) -> PackedGraphs:
    packer = AtomTypePacker()
    for text in smiles:
        packer.add(text)
    return packer.finish("mine")


def scored(graphs: PackedGraphs, types: str, ids: list[int] | None = None) -> MoleculeScores:
    """``types``: the names of the predicted types, between commas."""
    numbers = [graphs.node_type_names.index(name) for name in types.split(",")]
    return molecule_scores(graphs, ids or range(len(graphs)), torch.tensor(numbers))


def test_own_types_are_right() -> None:
    graphs = packed("C[C@@H](N)O", "c1cc[nH]c1", "C[N+](=O)[O-]")
    assert graphs.node_cat is not None
    assert molecule_scores(graphs, range(3), graphs.node_cat[:, 0]) == ALL_RIGHT


def test_a_written_hydrogen_counts_for_types_and_not_for_smiles() -> None:
    graphs = packed("C[C@@H](N)O", "CC")
    found = scored(graphs, "C,C,N,O,C,C")
    assert found == MoleculeScores(
        accuracy=pytest.approx(100 * 5 / 6), validity=100.0, exact_types=50.0, exact_smiles=100.0
    )


def test_another_element_is_wrong_in_every_sense() -> None:
    graphs = packed("CCO", "CCF", "C=C")
    assert scored(graphs, "C,O,O,C,C,F,C,C").exact_smiles == pytest.approx(100 * 2 / 3)
    impossible = scored(graphs, "C,C,O,C,C,F,F,C")  # fluorine with a double bond
    assert impossible.validity == impossible.exact_types == pytest.approx(100 * 2 / 3)


def test_a_symmetry_may_help_the_smiles() -> None:
    graphs = packed("CCO")
    assert scored(graphs, "O,C,C") == MoleculeScores(
        accuracy=pytest.approx(100 / 3), validity=100.0, exact_types=0.0, exact_smiles=100.0
    )
    assert scored(graphs, "C,O,C").exact_smiles == 0.0, "the same elements in another order"


def test_charges_decide_validity_and_not_the_smiles() -> None:
    graphs = packed("C[N+](=O)[O-]", "CN")
    found = scored(graphs, "C,N,O,O -,C,N")
    assert (found.validity, found.exact_types, found.exact_smiles) == (50.0, 50.0, 100.0)


def test_molecules_are_taken_in_the_order_of_the_ids(capfd: pytest.CaptureFixture[str]) -> None:
    graphs = packed("CO", "CCN", "F")
    assert scored(graphs, "F,C,O", [2, 0]) == ALL_RIGHT
    assert scored(graphs, "F,F,F", [2, 0]).exact_types == 50.0
    assert capfd.readouterr().err == ""


def test_mistakes() -> None:
    graphs = packed("CO", "CN")
    with pytest.raises(DataError, match=r"shape \[3\], but these 2 molecules have 4 atoms"):
        molecule_scores(graphs, [0, 1], torch.zeros(3, dtype=torch.int64))
    with pytest.raises(DataError, match=r"type 3 is not in 0\.\.2"):
        molecule_scores(graphs, [0], torch.tensor([0, 3]))
    with pytest.raises(DataError, match="no molecule is asked for"):
        molecule_scores(graphs, [], torch.tensor([], dtype=torch.int64))
    with pytest.raises(DataError, match=r"no named atom types; .* atoms=\"types\""):
        molecule_scores(from_smiles(["C"]), [0], torch.tensor([0]))


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = packed("C")
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingPackage, match="building molecules needs the package 'rdkit'"):
        molecule_scores(graphs, [0], torch.tensor([0]))


@pytest.mark.data
def test_zinc(data_root: Path) -> None:
    data = load("ZINC", data_root)
    test = data.folds[0].test
    types = data.graphs.batch(test).node_cat
    assert types is not None
    start = time.perf_counter()
    assert molecule_scores(data.graphs, test, types[:, 0]) == ALL_RIGHT
    assert time.perf_counter() - start < 2
    names = data.graphs.node_type_names
    without = torch.where(types[:, 0] == names.index("C H1"), names.index("C"), types[:, 0])
    found = molecule_scores(data.graphs, test, without)
    assert (found.validity, found.exact_smiles) == (100.0, 100.0)
    assert found.exact_types < 50
