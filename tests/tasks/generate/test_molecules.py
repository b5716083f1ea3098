"""What rows are as molecules: known ones by hand, and laws for all."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from molecule_rows import QM9, encoded, permuted, places_alone

from gmpool.errors import DataError, MissingPackage
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.molecules import Chemist

Chem = pytest.importorskip("rdkit.Chem")
CHEMIST = Chemist(QM9)
SINGLE, DOUBLE, TRIPLE, AROMATIC = 1, 2, 3, 4
KNOWN = [
    "CCO", "c1ccccc1", "c1cc[nH]c1", "CC#N", "c1c[nH]cn1", "c1nc2[nH]cnc2[nH]1", "FC(F)F", "CC=O",
    "O=c1[nH]cc[nH]1", "C1CC2CC1C2", "c1ccncc1", "Cc1ccc[nH]1", "N", "C#CC1CO1",
]  # fmt: skip


def row(atoms: str, bonds: dict[tuple[int, int], int]) -> np.ndarray:
    """By hand: a letter for each of the first places, "-" for no atom; bonds of pairs of places."""
    found = np.zeros(QM9.width, dtype=np.uint8)
    found[: len(atoms)] = ["-CNOF".index(letter) for letter in atoms]
    for (a, b), kind in bonds.items():
        before = sum(QM9.places - 1 - i for i in range(a))
        found[QM9.places + before + b - a - 1] = kind
    return found


def ring(size: int, kind: int) -> dict[tuple[int, int], int]:
    return {(i, i + 1): kind for i in range(size - 1)} | {(0, size - 1): kind}


@pytest.mark.parametrize(
    ("atoms", "bonds", "smiles"),
    [
        ("CCO", {(0, 1): SINGLE, (1, 2): SINGLE}, "CCO"),
        ("C-C-O", {(0, 2): SINGLE, (2, 4): SINGLE}, "CCO"),
        ("CCCCCC", ring(6, AROMATIC), "c1ccccc1"),
        ("CCNCC", ring(5, AROMATIC), "c1cc[nH]c1"),
        ("NCC", {(0, 1): TRIPLE, (1, 2): SINGLE}, "CC#N"),
        ("CCCC", ring(4, AROMATIC), "C1=CC=C1"),  # not aromatic, but possible
        ("-F", {}, "F"),
    ],
)
def test_valid_in_both_senses(atoms: str, bonds: dict[tuple[int, int], int], smiles: str) -> None:
    drawn = row(atoms, bonds)
    assert CHEMIST.strict(drawn) == smiles
    loose = CHEMIST.loose(drawn)
    assert loose is not None
    assert sorted(loose.split(".")) == sorted([smiles] + ["*"] * int((drawn[:9] == 0).sum()))


@pytest.mark.parametrize(
    ("atoms", "bonds", "loose"),
    [
        ("CCOO", {(0, 1): SINGLE, (2, 3): SINGLE}, "*.*.*.*.*.CC.OO"),
        ("C-", {(0, 1): SINGLE}, "*.*.*.*.*.*.*.*C"),
        ("", {}, "*.*.*.*.*.*.*.*.*"),
    ],
    ids=["two apart", "a dummy with a bond", "no atom"],
)
def test_valid_in_the_loose_sense_alone(
    atoms: str, bonds: dict[tuple[int, int], int], loose: str
) -> None:
    assert CHEMIST.loose(row(atoms, bonds)) == loose
    assert CHEMIST.strict(row(atoms, bonds)) is None


@pytest.mark.parametrize(
    ("atoms", "bonds"),
    [
        ("CCCCCC", {(0, i): SINGLE for i in range(1, 6)}),
        ("FCC", {(0, 1): DOUBLE, (1, 2): SINGLE}),
        ("CNC", {(0, 1): AROMATIC, (1, 2): AROMATIC}),
        ("CCCCC", ring(5, AROMATIC)),
    ],
    ids=["five bonds of carbon", "two of fluorine", "aromatic chain", "five aromatic carbons"],
)
def test_invalid_in_both_senses(
    atoms: str,
    bonds: dict[tuple[int, int], int],
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert CHEMIST.loose(row(atoms, bonds)) is CHEMIST.strict(row(atoms, bonds)) is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("smiles", "found"),
    [
        ("Cc1c[nH]cn1", "Cc1c[nH]cn1"),
        ("Cc1cnc[nH]1", "Cc1c[nH]cn1"),  # its tautomer: the bonds are the same
        ("O=c1[nH]cc[nH]1", "O=c1[nH]cc[nH]1"),  # has a Kekulé form without its hydrogens, too
    ],
)
def test_hydrogens_that_are_not_written(smiles: str, found: str) -> None:
    assert CHEMIST.strict(encoded(smiles)) == found


def test_many_places_for_hydrogens_are_not_all_tried() -> None:
    many = Alphabet(60, ("N",))
    assert Chemist(many).loose(np.array([1] * 60 + [4] * many.pairs, dtype=np.uint8)) is None
    rings = np.zeros(many.width, dtype=np.uint8)
    rings[:60] = 1
    pairs = {pair: n for n, pair in enumerate(zip(*np.triu_indices(60, 1), strict=True))}
    for start in range(0, 60, 5):
        for (a, b), kind in ring(5, AROMATIC).items():
            rings[60 + pairs[start + a, start + b]] = kind
    assert Chemist(many).loose(rings) is None, "twelve rings, one hydrogen for each"


@st.composite
def drawn_rows(draw: st.DrawFn) -> np.ndarray:
    """Known molecules with a few changes."""
    found = encoded(draw(st.sampled_from(KNOWN)))
    for place in draw(st.lists(st.integers(0, QM9.width - 1), max_size=3)):
        found[place] = draw(st.integers(0, 4))
    return found


@given(drawn_rows(), st.permutations(range(QM9.places)))
def test_strict_is_loose_and_knows_no_order(drawn: np.ndarray, order: list[int]) -> None:
    strict = CHEMIST.strict(drawn)
    assert strict is None or CHEMIST.loose(drawn) is not None
    assert CHEMIST.strict(permuted(drawn, order)) == strict
    assert CHEMIST.loose(permuted(drawn, order)) == CHEMIST.loose(drawn)


@given(drawn_rows())
def test_empty_places_change_nothing(drawn: np.ndarray) -> None:
    """Unless they have a bond."""
    strict, places = CHEMIST.strict(drawn), np.flatnonzero(drawn[: QM9.places]).tolist()
    alone = places_alone(drawn, places)
    if (alone[len(places) :] > 0).sum() < (drawn[QM9.places :] > 0).sum():
        assert strict is None
    elif places:
        loose = Chemist(replace(QM9, places=len(places))).loose(alone)
        assert strict == CHEMIST.one_molecule(loose)
        whole = loose is not None and "." not in loose and Chem.MolFromSmiles(loose) is not None
        assert strict == (loose if whole else None)


ODD_RINGS = [
    "111111000400040004040000400000400004000000000",  # which Kekulé form there is depends on order
    "312112000204000004004000400000400004000000000",  # RDKit writes what it cannot read
]


@pytest.mark.parametrize("digits", ODD_RINGS)
def test_odd_rings_know_no_order(digits: str) -> None:
    drawn = np.array([int(digit) for digit in digits], dtype=np.uint8)
    rng = np.random.default_rng(0)
    found = [permuted(drawn, rng.permutation(QM9.places).tolist()) for _ in range(50)]
    assert len({(CHEMIST.loose(row), CHEMIST.strict(row)) for row in found}) == 1
    assert CHEMIST.loose(drawn) is not None


def test_what_rdkit_cannot_read_again_is_not_valid() -> None:
    drawn = np.array([int(digit) for digit in ODD_RINGS[1]], dtype=np.uint8)
    assert CHEMIST.loose(drawn) == "*.*.*.c1nc2oc1=N2"
    assert CHEMIST.strict(drawn) is None


def test_it_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(CHEMIST)).strict(encoded("CCO")) == "CCO"


def test_mistakes(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="'Xx' is no chemical element"):
        Chemist(Alphabet(9, ("C", "Xx")))
    assert capfd.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingPackage, match="building molecules needs the package 'rdkit'"):
        Chemist(QM9)
