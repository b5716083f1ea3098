"""Molecules as rows of an alphabet, made with RDKit."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from gmpool.tasks.generate.alphabet import Alphabet

QM9 = Alphabet(9, ("C", "N", "O", "F"))


def encoded(smiles: str, alphabet: Alphabet = QM9) -> np.ndarray:
    """uint8 [places + pairs], the places in RDKit's order of the atoms."""
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(smiles)
    assert molecule is not None, smiles
    row = np.zeros(alphabet.width, dtype=np.uint8)
    for atom in molecule.GetAtoms():
        assert not atom.GetFormalCharge(), smiles
        row[atom.GetIdx()] = 1 + alphabet.elements.index(atom.GetSymbol())
    pairs = {pair: n for n, pair in enumerate(combinations(range(alphabet.places), 2))}
    for bond in molecule.GetBonds():
        ends = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        kind = 1 + alphabet.bonds.index(str(bond.GetBondType()))
        row[alphabet.places + pairs[ends[0], ends[1]]] = kind
    return row


def permuted(row: np.ndarray, order: list[int], alphabet: Alphabet = QM9) -> np.ndarray:
    """The same molecule with the atom of place order[i] at place i."""
    n = alphabet.places
    bonds = np.zeros((n, n), dtype=np.uint8)
    above = np.triu_indices(n, 1)
    bonds[above] = row[n:]
    bonds = (bonds + bonds.T)[np.ix_(order, order)]
    return np.concatenate([row[:n][order], bonds[above]])


def places_alone(row: np.ndarray, places: list[int], alphabet: Alphabet = QM9) -> np.ndarray:
    """The row of these places alone, for an alphabet with as many."""
    pairs = list(combinations(range(alphabet.places), 2))
    bonds = [n for n, (a, b) in enumerate(pairs) if a in places and b in places]
    return np.concatenate([row[places], row[alphabet.places :][bonds]])
