"""SMILES to graphs whose nodes carry one category, the atom's type, as in the ZINC subset.

A type is what stands in a Kekulé SMILES for the atom: its symbol, the hydrogens that are written
there, and its charge, such as "C", "C H1" or "N H2 +". Dwivedi et al., "Benchmarking Graph Neural
Networks", 2020, have 28 of them; a user's own molecules get a list of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from gmpool.data.packed import PackedGraphs
from gmpool.data.sources.molecules import BadSmiles, MoleculePacker
from gmpool.errors import DataError

# fmt: off
ZINC_TYPES = (
    "C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -",
    "S -", "I", "P", "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +",
    "C H1 -", "P H1 +",
)
# fmt: on
BOND_TYPES = ("SINGLE", "DOUBLE", "TRIPLE")
"""RDKit's names of the bonds 0, 1 and 2 of ``edge_cat``."""
_MOST_TYPES = 256  # a type is a byte
_TYPE = re.compile(r"(\*|[A-Z][a-z]?)(?: H(\d+))?(?: ([+-])(\d*))?")


class AtomType(NamedTuple):
    """What the name of a type says."""

    symbol: str
    hydrogens: int
    """Those written with the atom; more may be implied by its valence."""
    charge: int

    @property
    def name(self) -> str:
        """The symbol, " Hn" for hydrogens, " +" or " -" for a charge (with its size above one)."""
        size = "" if abs(self.charge) == 1 else str(abs(self.charge))
        charge = f" {'+' if self.charge > 0 else '-'}{size}" if self.charge else ""
        return f"{self.symbol}{f' H{self.hydrogens}' if self.hydrogens else ''}{charge}"

    @classmethod
    def parse(cls, name: str) -> AtomType:
        """The reverse of ``name``."""
        found = _TYPE.fullmatch(name)
        if found is None:
            raise DataError(f"{name!r} is no atom type; expected one like 'C', 'C H1' or 'N H2 +'")
        symbol, hydrogens, sign, size = found.groups()
        charge = 0 if sign is None else int(f"{sign}{size or 1}")
        return cls(symbol, int(hydrogens or 0), charge)


class AtomTypePacker(MoleculePacker):
    """Collects molecules with one category per atom and per bond (0 single, 1 double, 2 triple).

    Molecules are kekulised: no bond is aromatic. With ``types`` an atom of another type is refused;
    without, types are numbered as they come.
    """

    def __init__(self, types: Sequence[str] | None = None) -> None:
        super().__init__()
        self._fixed = types is not None
        self._numbers = {name: number for number, name in enumerate(types or ())}
        self._bond_numbers = {
            getattr(self._chem.BondType, name): number for number, name in enumerate(BOND_TYPES)
        }

    def read(self, smiles: str) -> Any:
        molecule = super().read(smiles)
        self._chem.Kekulize(molecule, clearAromaticFlags=True)
        return molecule

    def _atom_features(self, molecule: Any) -> bytes:
        return bytes(self._number(name) for name in self._type_names(molecule))

    def _type_names(self, molecule: Any) -> list[str]:
        """One name per atom, in the molecule's order.

        Which hydrogens are written is for the SMILES writer to say, so the molecule is written and
        read again as it stands there.
        """
        chem = self._chem
        written = chem.MolToSmiles(molecule, kekuleSmiles=True)
        order = re.findall(r"\d+", molecule.GetProp("_smilesAtomOutputOrder"))
        names = [""] * molecule.GetNumAtoms()
        reread = chem.MolFromSmiles(written, sanitize=False)
        if reread is None:
            raise BadSmiles(f"RDKit writes it as {written!r}, which it cannot read")
        for index, atom in zip(order, reread.GetAtoms(), strict=True):
            kind = AtomType(atom.GetSymbol(), atom.GetNumExplicitHs(), atom.GetFormalCharge())
            names[int(index)] = kind.name
        return names

    def _number(self, name: str) -> int:
        if name not in self._numbers and self._fixed:
            raise BadSmiles(f"atom type {name!r} is none of {', '.join(self._numbers)}")
        if name not in self._numbers and len(self._numbers) == _MOST_TYPES:
            raise BadSmiles(
                f"atom type {name!r} comes after {_MOST_TYPES} others, the most there are"
            )
        return self._numbers.setdefault(name, len(self._numbers))

    def _bond_features(self, bond: Any) -> tuple[int, ...]:
        kind = bond.GetBondType()
        if kind not in self._bond_numbers:
            raise BadSmiles(f"a bond is {kind}, not single, double, triple or aromatic")
        return (self._bond_numbers[kind],)

    def _feature_sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (len(self._numbers),), (len(BOND_TYPES),)

    def finish(self, name: str, **labels: Any) -> PackedGraphs:
        """All molecules added so far as one set, with the names of the atom types."""
        return super().finish(name, node_type_names=tuple(self._numbers), **labels)
