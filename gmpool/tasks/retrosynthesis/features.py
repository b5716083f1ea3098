"""Atoms of molecules and of patterns: all that is known of one, with its bonds, as one number, and
the rows of features that an encoder sees of it.

An encoder adds W_n x of an atom and W_e e of each of its bonds. That is one product with the atom's
row and the sum of its bonds' rows: a graph is then its atoms' numbers and who is bound to whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gmpool.tasks.retrosynthesis.chemistry import rdkit

FIELDS = {
    "element": 7, "degree": 4, "hydrogens": 3, "valence": 3, "aromatic": 1,
    "single": 4, "double": 4, "triple": 4, "aromatic_bonds": 4,
    "conjugated": 4, "ring": 4, "ring_unknown": 4,
    "charge": 4, "asked_hydrogens": 4, "asked_degree": 4,
}  # fmt: skip
"""What is known, with bits for it. Of bonds it is how many of an atom's bonds are so."""
_FIRST = dict(zip(FIELDS, np.cumsum([0, *FIELDS.values()])[:-1].tolist(), strict=True))
BONDS = ("single", "double", "triple", "aromatic_bonds", "conjugated", "ring", "ring_unknown")
DEGREES, HYDROGENS, VALENCES, CHARGES = 8, 6, 7, 7
PATTERN = HYDROGENS - 1
"""Hydrogens of an atom of a pattern, which has none of its own."""
NOT_ASKED = 15
"""What a pattern says of hydrogens or degree where it says nothing."""
WIDTHS = 8
"""Rows are a multiple of so many wide, filled up with zeros: a GPU reads such ones fast."""
_VALENCE_OF_PATTERN = 0
_NO_CHARGE = 7


class MoleculeGraph(NamedTuple):
    """atoms: numbers made of FIELDS, [n]. neighbours: of each atom, sorted."""

    atoms: list[int]
    neighbours: list[list[int]]


def unpacked(atoms: np.ndarray, name: str) -> np.ndarray:
    return (atoms >> _FIRST[name]) & ((1 << FIELDS[name]) - 1)


def graph_of_molecule(smiles: str) -> MoleculeGraph:
    """smiles: of one molecule that RDKit can read."""
    return _graph(rdkit().MolFromSmiles(smiles), is_pattern=False)


def graph_of_pattern(smarts: str) -> MoleculeGraph:
    return _graph(rdkit().MolFromSmarts(smarts), is_pattern=True)


def _graph(molecule: Any, *, is_pattern: bool) -> MoleculeGraph:
    of_atom = _pattern_atom if is_pattern else _molecule_atom
    atoms = [of_atom(atom) for atom in molecule.GetAtoms()]
    neighbours: list[list[int]] = [[] for _ in atoms]
    for bond in molecule.GetBonds():
        one, other = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        more = _bond(bond, is_pattern=is_pattern)
        for end, to in ((one, other), (other, one)):
            atoms[end] += more
            neighbours[end].append(to)
    return MoleculeGraph(atoms, [sorted(each) for each in neighbours])


def _molecule_atom(atom: Any) -> int:
    number = atom.GetAtomicNum()
    number |= min(atom.GetDegree(), 15) << _FIRST["degree"]
    number |= min(atom.GetTotalNumHs(), PATTERN - 1) << _FIRST["hydrogens"]
    number |= min(atom.GetNumImplicitHs(), VALENCES - 1) << _FIRST["valence"]
    number |= atom.GetIsAromatic() << _FIRST["aromatic"]
    number |= min(max(atom.GetFormalCharge() + _NO_CHARGE, 0), 14) << _FIRST["charge"]
    number |= NOT_ASKED << _FIRST["asked_hydrogens"] | NOT_ASKED << _FIRST["asked_degree"]
    return int(number)


def _pattern_atom(atom: Any) -> int:
    asked = _asked(atom)
    number = atom.GetAtomicNum()
    number |= min(atom.GetDegree(), 15) << _FIRST["degree"]
    number |= PATTERN << _FIRST["hydrogens"]
    number |= _VALENCE_OF_PATTERN << _FIRST["valence"]
    number |= atom.GetIsAromatic() << _FIRST["aromatic"]
    number |= min(max(asked.get("+", 0) + _NO_CHARGE, 0), 14) << _FIRST["charge"]
    number |= min(asked.get("H", NOT_ASKED), 15) << _FIRST["asked_hydrogens"]
    number |= min(asked.get("D", NOT_ASKED), 15) << _FIRST["asked_degree"]
    return int(number)


def _asked(atom: Any) -> dict[str, int]:
    """What the pattern of an atom says of its hydrogens (H), degree (D) and charge (+), where it
    says one thing: the lines of RDKit's description that are no alternatives."""
    found: dict[str, int] = {}
    text = atom.DescribeQuery()
    if "Or" in text:
        return found
    names = {"AtomHCount": "H", "AtomExplicitDegree": "D", "AtomFormalCharge": "+"}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[0] in names and words[2] == "=":  # !H0 says != there
            found[names[words[0]]] = int(words[1])
    return found


def _bond(bond: Any, *, is_pattern: bool) -> int:
    kinds = rdkit().BondType
    name = {
        kinds.DOUBLE: "double",
        kinds.TRIPLE: "triple",
        kinds.AROMATIC: "aromatic_bonds",
    }.get(bond.GetBondType(), "single")
    number = 1 << _FIRST[name]
    if bond.GetIsConjugated():
        number += 1 << _FIRST["conjugated"]
    if is_pattern:
        number += 1 << _FIRST["ring_unknown"]
    elif bond.IsInRing():
        number += 1 << _FIRST["ring"]
    return number


def elements_of(atoms: np.ndarray) -> tuple[int, ...]:
    """The elements of atoms that are learned from, by their numbers."""
    return tuple(sorted(set(unpacked(atoms, "element").tolist())))


def feature_rows(atoms: np.ndarray, elements: Sequence[int], *, queries: bool) -> np.ndarray:
    """float32 [n, F]: element (the last is any other), degree, hydrogens, implicit valence and
    whether it is aromatic, then the sums over its bonds. As published; queries: and charge,
    hydrogens and degree that a pattern asks for, which the published features do not see."""
    element = unpacked(atoms, "element")
    at = np.searchsorted(elements, element)
    known = (at < len(elements)) & (np.take(elements, at, mode="clip") == element)
    columns = [
        _one_hot(np.where(known, at, len(elements)), len(elements) + 1),
        _one_hot(unpacked(atoms, "degree"), DEGREES),
        _one_hot(unpacked(atoms, "hydrogens"), HYDROGENS),
        _one_hot(unpacked(atoms, "valence"), VALENCES),
        unpacked(atoms, "aromatic")[:, None],
        *(unpacked(atoms, name)[:, None] for name in BONDS),
    ]
    if queries:
        columns += [
            _one_hot(unpacked(atoms, "charge") - _NO_CHARGE + CHARGES // 2, CHARGES),
            _one_hot(unpacked(atoms, "asked_hydrogens"), NOT_ASKED + 1),
            _one_hot(unpacked(atoms, "asked_degree"), NOT_ASKED + 1),
        ]
    rows = np.concatenate(columns, axis=1).astype(np.float32)
    return np.pad(rows, [(0, 0), (0, -rows.shape[1] % WIDTHS)])


def _one_hot(values: np.ndarray, count: int) -> np.ndarray:
    """Values outside count as the nearest."""
    return np.eye(count)[np.clip(values, 0, count - 1)]
