"""From rows of small integers to molecules, and whether RDKit accepts them.

Hydrogens are not written, but an aromatic nitrogen may need one: pyrrole without it has no Kekulé
form. Those are given back here. Rows do not tell tautomers apart that differ in these hydrogens
alone: the one whose SMILES is alphabetically first stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from gmpool.errors import DataError, MissingPackage
from gmpool.tasks.generate.alphabet import Alphabet

MOST_TRIES = 256
"""Ways to place one, two, … hydrogens: a number of them that has more ways is not tried."""
_NEEDY = (7, 15)  # nitrogen and phosphorus


class Chemist:
    """Says of rows uint8 [places + pairs] what they are as molecules."""

    def __init__(self, alphabet: Alphabet) -> None:
        try:
            from rdkit import Chem, rdBase
        except ImportError as error:
            raise MissingPackage("rdkit", "chem", "building molecules") from error
        self.alphabet = alphabet
        self._empty, self._read = Chem.RWMol, Chem.MolFromSmiles
        self._ranks, self._renumbered = Chem.CanonicalRankAtoms, Chem.RenumberAtoms
        self._quiet = rdBase.BlockLogs
        with self._quiet():
            self._atoms = [Chem.Atom(0), *(_atom(Chem, word) for word in alphabet.elements)]
        self._bonds = [None, *(getattr(Chem.BondType, name) for name in alphabet.bonds)]
        self._pairs = list(combinations(range(alphabet.places), 2))

    def __reduce__(self) -> tuple[type[Chemist], tuple[Alphabet]]:
        return type(self), (self.alphabet,)

    def loose(self, row: np.ndarray) -> str | None:
        """Canonical SMILES where RDKit accepts the molecule, in which a place without atom is a
        dummy: what MolGAN's authors count as valid, but for hydrogens that are given back."""
        molecule = self._empty()
        kinds = row.tolist()
        places = self.alphabet.places
        for kind in kinds[:places]:
            molecule.AddAtom(self._atoms[kind])
        for (a, b), kind in zip(self._pairs, kinds[places:], strict=True):
            if kind:
                molecule.AddBond(a, b, self._bonds[kind])
        with self._quiet():
            return settled_smiles(self._in_order(molecule)) or None

    def _in_order(self, molecule: Any) -> Any:
        """With its atoms in an order that does not depend on their places: which Kekulé form RDKit
        finds, and so the SMILES of a few odd rings, depends on it."""
        molecule.UpdatePropertyCache(strict=False)
        ranks = self._ranks(molecule)
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        return self._empty(self._renumbered(molecule, order))

    def strict(self, row: np.ndarray) -> str | None:
        """Canonical SMILES of one connected molecule of atoms alone. Places without atom and
        without bond are not there."""
        return self.one_molecule(self.loose(row))

    def one_molecule(self, loose: str | None) -> str | None:
        """The strict SMILES that is in a loose one, if any: a canonical SMILES has its connected
        parts between dots, each as it is alone. RDKit writes a few that it cannot read again."""
        parts = [part for part in (loose or "").split(".") if part not in ("*", "")]
        if len(parts) != 1 or "*" in parts[0]:
            return None
        with self._quiet():
            return parts[0] if self._read(parts[0]) is not None else None


def _atom(chem: Any, symbol: str) -> Any:
    try:
        return chem.Atom(symbol)
    except RuntimeError as error:
        raise DataError(f"{symbol!r} is no chemical element that RDKit knows") from error


def settled_smiles(molecule: Any) -> str | None:
    """Canonical SMILES, without stereo, of an RDKit RWMol that is not sanitised and whose aromatic
    nitrogens and phosphorus atoms lack their hydrogens; None where RDKit refuses it.

    As few hydrogens are added as keep all aromatic bonds aromatic, else as few as RDKit accepts.
    """
    from rdkit import Chem

    bare, refused = _sanitised(Chem, molecule, ())
    if refused and not _hydrogens_may_help(Chem, refused, bare):
        return None
    aromatic = [bond.GetIdx() for bond in molecule.GetBonds() if bond.GetIsAromatic()]

    def keeps_aromatic(found: Any) -> bool:
        return all(found.GetBondWithIdx(number).GetIsAromatic() for number in aromatic)

    accepted = [] if refused else [bare]
    best = [found for found in accepted if keeps_aromatic(found)]
    needy = [atom.GetIdx() for atom in molecule.GetAtoms() if may_lack_hydrogen(atom)]
    size = 0
    while not best and size < len(needy) and comb(len(needy), size + 1) <= MOST_TRIES:
        size += 1
        tried = (_sanitised(Chem, molecule, chosen) for chosen in combinations(needy, size))
        fine = [found for found, refused in tried if not refused]
        accepted = accepted or fine
        best = [found for found in fine if keeps_aromatic(found)]
    smiles = (Chem.MolToSmiles(found, isomericSmiles=False) for found in best or accepted)
    return min(smiles, default=None)


def _sanitised(chem: Any, molecule: Any, hydrogens: Iterable[int]) -> tuple[Any, Any]:
    """A copy with a hydrogen at each of these atoms, and why RDKit refuses it, false if it does
    not."""
    copy = chem.RWMol(molecule)
    for number in hydrogens:
        copy.GetAtomWithIdx(number).SetNumExplicitHs(1)
    return copy, chem.SanitizeMol(copy, catchErrors=True)


def may_lack_hydrogen(atom: Any) -> bool:
    """Whether an RDKit atom is one that may have a hydrogen which its bonds do not tell of."""
    return (
        atom.GetIsAromatic()
        and atom.GetAtomicNum() in _NEEDY
        and atom.GetDegree() == 2
        and not atom.GetFormalCharge()
    )


def _hydrogens_may_help(chem: Any, refused: Any, molecule: Any) -> bool:
    """Not against a wrong valence, nor where something aromatic is not in a ring."""
    return refused == chem.SanitizeFlags.SANITIZE_KEKULIZE and all(
        atom.IsInRing() for atom in molecule.GetAtoms() if atom.GetIsAromatic()
    )
