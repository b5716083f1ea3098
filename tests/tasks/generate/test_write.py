"""Molecules of a set as rows of an alphabet that is taken from them, and those that do not fit."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from few_molecules import few_molecules, molecule_set
from molecule_rows import QM9, encoded
from small_sets import classes

from gmpool.data import Dataset, Split, load, load_table, save
from gmpool.errors import DataError, UserError
from gmpool.tasks.generate.alphabet import BONDS, Alphabet
from gmpool.tasks.generate.scores import DrawScorer, canonical
from gmpool.tasks.generate.write import misfits, small_molecules
from gmpool.tasks.task import TASKS

SINGLE, DOUBLE = 1, 2


def table(folder: Path, text: str) -> Dataset:
    path = folder / "t.csv"
    path.write_text(text)
    return load_table(path, label_columns=())


# -- rows ----------------------------------------------------------------------------------------


def test_ethanol_by_hand() -> None:
    found = few_molecules(["CCO"])
    assert found.alphabet == Alphabet(3, ("C", "O"), ("SINGLE",))
    # C C O, then the pairs (0, 1), (0, 2), (1, 2)
    assert found.rows.tolist() == [[1, 1, 2, 1, 0, 1]]
    assert found.rows.dtype == torch.uint8
    assert (found.name, found.smiles, found.train.tolist()) == ("few", ("CCO",), [0])


def test_pairs_are_in_the_order_of_their_first_place() -> None:
    """Of four places (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3); what is smaller ends in
    zeros."""
    found = few_molecules(["OC(=O)N", "CN"])
    assert found.alphabet == Alphabet(4, ("C", "N", "O"), ("SINGLE", "DOUBLE"))
    assert found.rows.tolist() == [
        [3, 1, 3, 2, SINGLE, 0, 0, DOUBLE, SINGLE, 0],
        [1, 2, 0, 0, SINGLE, 0, 0, 0, 0, 0],
    ]


def test_the_bonds_of_benzene_are_aromatic() -> None:
    found = few_molecules(["c1ccccc1", "CC#N"])
    assert found.alphabet == Alphabet(6, ("C", "N"), ("SINGLE", "TRIPLE", "AROMATIC"))
    ring, chain = found.rows.tolist()
    assert ring[:6] == [1] * 6
    # (0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)
    assert [at for at, kind in enumerate(ring[6:]) if kind] == [0, 4, 5, 9, 12, 14]
    assert {*ring[6:]} == {0, 3}
    assert chain[:6] == [1, 1, 2, 0, 0, 0]
    assert [(at, kind) for at, kind in enumerate(chain[6:]) if kind] == [(0, 1), (5, 2)]


def test_only_what_is_there_is_in_the_alphabet() -> None:
    assert few_molecules(["CC"]).alphabet == Alphabet(2, ("C",), ("SINGLE",))
    found = few_molecules(["ClBr", "C=S", "CC(=O)NC#N", "c1ccccc1"]).alphabet
    assert found == Alphabet(6, ("C", "N", "O", "S", "Cl", "Br"), BONDS), "by atomic number"
    limited = few_molecules(["CC", "CCO", "CN"], max_atoms=2, leave_out=True)
    assert limited.alphabet == Alphabet(2, ("C", "N"), ("SINGLE",)), "of those that fit alone"


@pytest.mark.parametrize("smiles", ["C1CC1", "OC=O", "CN(C)C=O", "c1ccoc1", "FC#CC(N)=O"])
def test_rows_are_those_that_rdkit_tells(smiles: str) -> None:
    ballast = ["C#CN(C)C(=O)OF", "c1ccccc1", "CCCCCCCCC"]  # for all of QM9's alphabet
    found = few_molecules([smiles, *ballast])
    assert found.alphabet == QM9
    assert found.rows[0].tolist() == encoded(smiles).tolist()


# -- what does not fit ---------------------------------------------------------------------------

REASONS = {
    "C": "it has fewer than two atoms besides hydrogen",
    "[HH]": "it has fewer than two atoms besides hydrogen",
    "CCCCC": "it has 5 atoms, where 4 are the most",
    "CCl": "it has an atom Cl",
    "*CC": "it has an atom *",
    "C[NH3+]": "it has a charged atom",
    "C[N+](=O)[O-]": "it has a charged atom",
    "C[CH2]": "it has an atom with an unpaired electron",
    "C=[CH]": "it has an atom with an unpaired electron",
    "CC.CO": "it falls into pieces",
    "C.CC": "it falls into pieces",
    "CN->O": "it has a bond of another kind",
}


@pytest.mark.parametrize("smiles", REASONS)
def test_each_reason_alone(smiles: str) -> None:
    graphs = molecule_set(["CO", smiles, "CCO"]).graphs
    assert misfits(graphs, 4, ["C", "N", "O"]) == {1: REASONS[smiles]}


def test_without_limits_only_what_no_alphabet_has_does_not_fit() -> None:
    limits = ["CCCCC", "CCl"]
    graphs = molecule_set(list(REASONS)).graphs
    wrong = [smiles for smiles in REASONS if smiles not in limits]
    assert misfits(graphs, 100) == {list(REASONS).index(s): REASONS[s] for s in wrong}


def test_all_that_fits_and_the_last_atom_of_a_set() -> None:
    """Pieces are told apart by graph, so that neighbours in the set are none of each other's."""
    assert misfits(molecule_set(["CO", "CC", "C=C"]).graphs, 2) == {}
    assert misfits(molecule_set(["CO", "CC", "C=C.C"]).graphs, 3) == {2: "it falls into pieces"}


def test_a_table_is_told_its_lines(tmp_path: Path) -> None:
    data = table(tmp_path, "smiles,n\nCC,1\n\n\nC,2\nCO,3\n\nC[NH3+],4\n")
    with pytest.raises(DataError) as raised:
        small_molecules(data)
    place = tmp_path / "t.csv"
    assert str(raised.value) == (
        "2 of 4 molecules cannot be written as small graphs without charges:\n"
        f"  {place}:5: C: it has fewer than two atoms besides hydrogen\n"
        f"  {place}:8: C[NH3+]: it has a charged atom\n"
        "leave them out with --skip-bad-rows"
    )


def test_lines_are_right_below_rows_that_could_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles\nC1CC\nCC\nnot one\nC.C\nCO\n")
    data = load_table(path, label_columns=(), skip_bad_rows=True)
    with pytest.raises(DataError, match=r"t\.csv:5: C\.C: it falls into pieces"):
        small_molecules(data)


def test_other_sets_are_told_the_number_of_the_graph() -> None:
    many = ["C", "CC", *["C.C"] * 6]
    with pytest.raises(DataError) as raised:
        few_molecules(many)
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("7 of 8 molecules cannot be written")
    assert lines[1:3] == [
        "  few, graph 0: C: it has fewer than two atoms besides hydrogen",
        "  few, graph 2: C.C: it falls into pieces",
    ]
    assert lines[-2:] == ["  and 2 more", "leave them out with --skip-bad-rows"]


def test_packed_sets_can_leave_them_out_as_they_are_told_to(tmp_path: Path) -> None:
    path = tmp_path / "few.safetensors"
    save(molecule_set(["CC", "C", "CO"]).graphs, path)
    generate = TASKS["generate"]
    with pytest.raises(DataError, match=r"few, graph 1: C: .*\nleave them out with --skip-bad-row"):
        generate.open(str(path))
    assert generate.open(str(path), skip_bad_rows=True).smiles == ("CC", "CO")


def test_what_is_left_out_is_counted() -> None:
    found = few_molecules(["CC", *REASONS, "CO"], max_atoms=4, elements=["C", "O"], leave_out=True)
    assert found.smiles == ("CC", "CO")
    assert found.rows.tolist() == [[1, 1, 1], [1, 2, 1]]
    assert found.understood == (
        "molecules: 2 with 2 to 2 atoms of C, O; bonds: single",
        "left out: 3, because they have an atom N",
        "left out: 2, because they have fewer than two atoms besides hydrogen",
        "left out: 2, because they have an atom with an unpaired electron",
        "left out: 2, because they fall into pieces",
        "left out: 1, because they have 5 atoms, where 4 are the most",
        "left out: 2 for other reasons",
    )


def test_nothing_that_fits() -> None:
    with pytest.raises(DataError, match="few: no molecule fits; the first: it has a charged atom"):
        few_molecules(["C[NH3+]", "C"], leave_out=True)


def test_an_element_that_there_is_not() -> None:
    with pytest.raises(UserError, match=r"unknown element 'cl' \(known: Ac, .*, Cl, "):
        few_molecules(["CC"], elements=["C", "cl"])


def test_another_choice_of_molecules_is_another_set() -> None:
    """Even when it is as many: runs on them are not each other's."""
    smiles = ["CC", "CO", "CN"]
    oxygen, nitrogen = (few_molecules(smiles, elements=["C", x], leave_out=True) for x in "ON")
    assert len(oxygen) == len(nitrogen) == 2
    assert oxygen.digest != nitrogen.digest
    whole = few_molecules(smiles)
    assert whole.digest == molecule_set(smiles).digest
    assert few_molecules(smiles, max_atoms=5, elements=["C", "N", "O"]).digest == whole.digest


def test_sets_that_are_no_molecules() -> None:
    for data in (
        Dataset.of(classes()),
        Dataset.of(replace(molecule_set().graphs, graph_names=None)),
    ):
        with pytest.raises(DataError, match="holds no molecules; give a table with a column of SM"):
            small_molecules(data)


# -- what is told --------------------------------------------------------------------------------


def test_twins_and_stereo_are_told() -> None:
    said = few_molecules(["CC", "C[C@H](N)O", "CC", "CC"]).understood
    assert said == (
        "molecules: 4 with 2 to 4 atoms of C, N, O; bonds: single",
        "there more than once: 2 molecules, which count as often as they are there",
        "not learned: the arrangement of atoms in space (@, / and \\ in SMILES)",
    )
    assert few_molecules(["C/C=C/F"]).understood[1].startswith("not learned: the arrangement")
    assert len(few_molecules(["CC", "CO"]).understood) == 1


def test_a_split_column_says_what_is_learned_from(tmp_path: Path) -> None:
    rows = ["CC,train", "C,train", "CO,test", "CCO,valid", "CCC,train", "C=O,train"]
    data = table(tmp_path, "smiles,split\n" + "\n".join(rows) + "\n")
    found = small_molecules(data, leave_out=True)
    assert found.smiles == ("CC", "CO", "CCO", "CCC", "C=O")
    assert found.train.tolist() == [0, 3, 4], "among the molecules that fit"
    said = [line for line in found.understood if line.startswith("learned from")]
    assert said == [f"learned from: 3, the train part ({data.split_reason})"]
    assert "'split'" in data.split_reason


def test_a_train_part_in_which_nothing_fits() -> None:
    data = molecule_set(["C", "CC", "CO"])
    ids = torch.arange(3)
    data = replace(data, folds=(Split(ids[:1], ids[1:2], ids[2:]),))
    with pytest.raises(DataError, match="the train part of its split has no molecule that fits"):
        small_molecules(data, leave_out=True)


@pytest.mark.data
def test_qm9_there_and_back(data_root: Path, tmp_path: Path) -> None:
    with gzip.open(data_root / "qm9.csv.gz", "rt") as file:
        lines = [next(file) for _ in range(3001)]
    path = tmp_path / "part.csv"
    path.write_text("".join(lines))
    data = load(path, label_columns=())
    assert len(data) == 3000
    reasons = misfits(data.graphs, 9, ["C", "N", "O", "F"])
    assert {*reasons.values()} == {
        "it has fewer than two atoms besides hydrogen", "it has a charged atom"
    }  # fmt: skip
    found = small_molecules(data, leave_out=True)
    assert len(found) == 3000 - len(reasons) > 2900
    scorer = DrawScorer(found.alphabet, frozenset())
    assert list(scorer.smiles(found.rows.numpy())) == canonical(found.smiles)
