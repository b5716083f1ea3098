"""What is known of atoms of molecules and patterns, and the rows that encoders see of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.tasks.retrosynthesis.chemistry import rdkit
from gmpool.tasks.retrosynthesis.features import (
    BONDS,
    CHARGES,
    DEGREES,
    HYDROGENS,
    NOT_ASKED,
    PATTERN,
    VALENCES,
    WIDTHS,
    elements_of,
    feature_rows,
    graph_of_molecule,
    graph_of_pattern,
    unpacked,
)

pytest.importorskip("rdkit")

COLUMNS = ("element", "degree", "hydrogens", "valence", "aromatic", *BONDS[:-1])
# (SMILES, atom): element, degree, hydrogens, implicit valence, aromatic, then how many of its bonds
# are single, double, triple, aromatic, conjugated, in a ring.
MOLECULES = {
    ("C", 0): (6, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0),
    ("[CH3]", 0): (6, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0),  # written, so not implicit
    ("CC(=O)O", 0): (6, 1, 3, 3, 0, 1, 0, 0, 0, 0, 0),
    ("CC(=O)O", 1): (6, 3, 0, 0, 0, 2, 1, 0, 0, 2, 0),
    ("CC(=O)O", 3): (8, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0),
    ("C#N", 1): (7, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0),
    ("c1ccncc1", 3): (7, 2, 0, 0, 1, 0, 0, 0, 2, 2, 2),
    ("[nH]1cccc1", 0): (7, 2, 1, 0, 1, 0, 0, 0, 2, 2, 2),
    ("O=[N+]([O-])c1ccccc1", 1): (7, 3, 0, 0, 0, 2, 1, 0, 0, 3, 0),
    ("O=[N+]([O-])c1ccccc1", 3): (6, 3, 0, 0, 1, 1, 0, 0, 2, 3, 2),
    ("CS(=O)(=O)Cl", 1): (16, 4, 0, 0, 0, 2, 2, 0, 0, 0, 0),
    ("C1CC1", 0): (6, 2, 2, 2, 0, 2, 0, 0, 0, 0, 2),
    ("O=C1C=CC(=O)C=C1", 1): (6, 3, 0, 0, 0, 2, 1, 0, 0, 3, 2),
    ("CB(O)O", 1): (5, 3, 0, 0, 0, 3, 0, 0, 0, 0, 0),
    ("C[Si](C)(C)C", 1): (14, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0),
    ("[Na+]", 0): (11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
}
# (SMARTS, atom): element, degree, aromatic, single, double, triple and aromatic bonds; charge, and
# hydrogens and degree that it asks for, if it does.
PATTERNS = {
    ("[C:1]-[O:2]", 0): (6, 1, 0, 1, 0, 0, 0, 0, None, None),
    ("[#7;a:1]:[c:2]", 0): (7, 1, 0, 0, 0, 0, 1, 0, None, None),
    ("[#7;a:1]:[c:2]", 1): (6, 1, 1, 0, 0, 0, 1, 0, None, None),
    ("[C;H0;D3;+0:1](=[O;D1;H0:2])-[OH;D1;+0:3]", 0): (6, 2, 0, 1, 1, 0, 0, 0, 0, 3),
    ("[C;H0;D3;+0:1](=[O;D1;H0:2])-[OH;D1;+0:3]", 2): (8, 1, 0, 1, 0, 0, 0, 0, 1, 1),
    ("[NH2;D1;+0:1]-[c:2]", 0): (7, 1, 0, 1, 0, 0, 0, 0, 2, 1),
    ("[N+:1](=[O:2])-[O-:3]", 0): (7, 2, 0, 1, 1, 0, 0, 1, None, None),
    ("[N+:1](=[O:2])-[O-:3]", 2): (8, 1, 0, 1, 0, 0, 0, -1, None, None),
    ("C#[N;H0;D1]", 1): (7, 1, 0, 0, 0, 1, 0, 0, 0, 1),
    ("[*;H1]-[Cl]", 0): (0, 1, 0, 1, 0, 0, 0, 0, 1, None),
    ("[#7;H1,H2;D2]-C", 0): (7, 1, 0, 1, 0, 0, 0, 0, None, None),  # alternatives are no question
    ("[#6;!H0]-C", 0): (6, 1, 0, 1, 0, 0, 0, 0, None, None),  # nor is what it must not be
    ("[C;X4]-C", 0): (6, 1, 0, 1, 0, 0, 0, 0, None, None),  # nor is another count
    ("cc", 0): (6, 1, 1, 0, 0, 0, 1, 0, None, None),
}
ELEMENTS = (0, 5, 6, 7, 8, 16, 17)
PLAIN = len(ELEMENTS) + 1 + DEGREES + HYDROGENS + VALENCES + 1


def values(atom: int, *names: str) -> tuple[int, ...]:
    return tuple(int(unpacked(np.array([atom]), name)[0]) for name in names)


@pytest.mark.parametrize(("smiles", "atom"), MOLECULES)
def test_atoms_of_molecules_by_hand(smiles: str, atom: int) -> None:
    number = graph_of_molecule(smiles).atoms[atom]
    assert values(number, *COLUMNS) == MOLECULES[smiles, atom]
    assert values(number, "ring_unknown") == (0,)
    assert values(number, "asked_hydrogens", "asked_degree") == (NOT_ASKED, NOT_ASKED)


@pytest.mark.parametrize(("smarts", "atom"), PATTERNS)
def test_atoms_of_patterns_by_hand(smarts: str, atom: int) -> None:
    number = graph_of_pattern(smarts).atoms[atom]
    element, degree, aromatic, *bonds, charge, hydrogens, wanted = PATTERNS[smarts, atom]
    names = ("element", "degree", "aromatic", *BONDS[:4])
    assert values(number, *names) == (element, degree, aromatic, *bonds)
    assert values(number, "hydrogens", "valence") == (PATTERN, 0)
    assert values(number, "conjugated", "ring", "ring_unknown") == (0, 0, degree)
    asked = [NOT_ASKED if each is None else each for each in (hydrogens, wanted)]
    assert values(number, "charge", "asked_hydrogens", "asked_degree") == (7 + charge, *asked)


def test_neighbours_are_those_of_the_molecule() -> None:
    graph = graph_of_molecule("CC(=O)c1ccc1")
    assert graph.neighbours == [[1], [0, 2, 3], [1], [1, 4, 6], [3, 5], [4, 6], [3, 5]]
    assert graph_of_pattern("[C:1].[O:2]").neighbours == [[], []]


def test_elements_that_were_not_learned_from_share_a_column() -> None:
    atoms = np.array([graph_of_molecule(text).atoms[0] for text in ("C", "[Pd]", "[U]", "O", "B")])
    assert elements_of(atoms[[3, 0]]) == (6, 8)
    rows = feature_rows(atoms, (6, 8), queries=False)
    assert rows[:, :3].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1]]


def test_a_row_is_one_hot_but_for_its_bonds() -> None:
    (atom,) = graph_of_molecule("[nH]1cccc1").atoms[:1]
    row = feature_rows(np.array([atom]), ELEMENTS, queries=False)[0]
    begin = np.cumsum([0, len(ELEMENTS) + 1, DEGREES, HYDROGENS, VALENCES])
    set_at = np.flatnonzero(row[: PLAIN - 1]) - begin[:4]
    assert set_at.tolist() == [3, 2, 1, 0], "nitrogen, two neighbours, one hydrogen"
    assert row[PLAIN - 1 : PLAIN + 7].tolist() == [1, 0, 0, 0, 2, 2, 2, 0]
    assert row.dtype == np.float32
    assert len(row) % WIDTHS == 0
    assert not row[PLAIN + 7 :].any()


def test_many_hydrogens_or_neighbours_count_as_the_most() -> None:
    atoms = np.array([graph_of_molecule(text).atoms[0] for text in ("C", "S(F)(F)(F)(F)(F)F")])
    rows = feature_rows(atoms, (6, 16), queries=False)
    hydrogens = rows[:, 3 + DEGREES : 3 + DEGREES + HYDROGENS]
    assert hydrogens.argmax(1).tolist() == [4, 0]
    assert values(graph_of_pattern("[CH4]").atoms[0], "hydrogens") == (5,), "no molecule has that"


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("[N;H1;D2:1]-[C:2]", "[N;H2;D2:1]-[C:2]", True),
        ("[N;H1;D2:1]-[C:2]", "[N;H1;D3:1]-[C:2]", True),
        ("[N:1]-[C:2]", "[N+:1]-[C:2]", True),
        ("[N;H1,H2:1]-[C:2]", "[N:1]-[C:2]", False),
        ("[N;H0:1]-[C:2]", "[N:1]-[C:2]", True),
    ],
)
def test_queries_are_seen_where_they_are_wanted(one: str, other: str, differ: bool) -> None:
    atoms = np.array([graph_of_pattern(text).atoms[0] for text in (one, other)])
    published, seeing = (feature_rows(atoms, ELEMENTS, queries=q) for q in (False, True))
    assert np.array_equal(published[0], published[1])
    assert np.array_equal(seeing[0], seeing[1]) != differ
    assert np.array_equal(seeing[:, : PLAIN + 7], published[:, : PLAIN + 7])
    assert seeing[:, PLAIN + 7 :].sum(1).tolist() == [3, 3], "one of each question"


def test_charges_are_seen_with_queries() -> None:
    texts = ("[O-]C", "OC", "[NH3+]C", "[C-4]", "[Ti+4]")
    atoms = np.array([graph_of_molecule(text).atoms[0] for text in texts])
    rows = feature_rows(atoms, ELEMENTS, queries=True)[:, PLAIN + 7 : PLAIN + 7 + CHARGES]
    assert rows.argmax(1).tolist() == [2, 3, 4, 0, 6], "beyond three it counts as three"


def bond_row(bond: Any, is_pattern: bool) -> list[float]:
    """Of one bond, as GLN has it."""
    kinds = rdkit().BondType
    listed = (kinds.SINGLE, kinds.DOUBLE, kinds.TRIPLE, kinds.AROMATIC)
    kind = [float(bond.GetBondType() == each) for each in listed]
    in_ring = 0.0 if is_pattern else float(bond.IsInRing())
    return [*kind, float(bond.GetIsConjugated()), in_ring, float(is_pattern)]


@given(st.sampled_from(sorted({text for text, _ in [*MOLECULES, *PATTERNS]})), st.integers(0, 99))
def test_one_product_is_the_sum_of_the_atoms_and_of_its_bonds(text: str, seed: int) -> None:
    """b = W_n x + Σ W_e e, written out bond by bond."""
    is_pattern = (text, 0) in PATTERNS or (text, 2) in PATTERNS or (text, 1) in PATTERNS
    read = rdkit().MolFromSmarts if is_pattern else rdkit().MolFromSmiles
    graph = (graph_of_pattern if is_pattern else graph_of_molecule)(text)
    rows = feature_rows(np.array(graph.atoms), ELEMENTS, queries=False).astype(np.float64)
    weight = np.random.default_rng(seed).normal(size=(5, rows.shape[1]))
    W_n, W_e = weight[:, :PLAIN], weight[:, PLAIN : PLAIN + 7]
    for atom in read(text).GetAtoms():
        number = atom.GetIdx()
        b = W_n @ rows[number, :PLAIN]
        for bond in atom.GetBonds():
            b = b + W_e @ bond_row(bond, is_pattern)
        np.testing.assert_allclose(weight @ rows[number], b, atol=1e-12)
        assert graph.neighbours[number] == sorted(n.GetIdx() for n in atom.GetNeighbors())
