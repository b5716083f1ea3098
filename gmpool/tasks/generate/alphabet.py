"""What generated molecules are written in: so many places, the elements and the bonds.

A molecule is a row of small integers: one for each of n places, 0 for no atom or the number of its
element from 1 on, then one for each pair of places i < j, (0, 1), (0, 2), … (n-2, n-1), 0 for no
bond or the number of its kind from 1 on. Hydrogens are not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from gmpool.errors import CheckpointError, unknown

BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
"""RDKit's names."""
MOST_PLACES = 100
"""A generator has an output for each pair of places and kind of bond."""


@dataclass(frozen=True)
class Alphabet:
    """places: n. elements: their symbols. bonds: RDKit's names of those that are there."""

    places: int
    elements: tuple[str, ...]
    bonds: tuple[str, ...] = BONDS

    @property
    def pairs(self) -> int:
        """Of places."""
        return self.places * (self.places - 1) // 2

    @property
    def width(self) -> int:
        """Of a molecule as a row."""
        return self.places + self.pairs

    @property
    def atom_kinds(self) -> int:
        """With that of no atom."""
        return len(self.elements) + 1

    @property
    def bond_kinds(self) -> int:
        """With that of no bond."""
        return len(self.bonds) + 1

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: object) -> Alphabet:
        """From a file that anybody may have written."""
        if not isinstance(values, Mapping):
            raise CheckpointError(f"shape must be an object, got {values!r:.60}")
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise unknown("part of an alphabet", key, known)
        for key in known:
            if key not in values:
                raise CheckpointError(f"shape.{key} is missing")
        places = values["places"]
        if type(places) is not int or not 2 <= places <= MOST_PLACES:
            raise CheckpointError(
                f"shape.places must be from 2 to {MOST_PLACES}, got {places!r:.60}"
            )
        elements, bonds = (_words(key, values[key]) for key in ("elements", "bonds"))
        for bond in bonds:
            if bond not in BONDS:
                raise unknown("kind of bond", bond, BONDS)
        return cls(places, elements, bonds)


def _words(key: str, found: object) -> tuple[str, ...]:
    words = found if isinstance(found, list | tuple) else ()
    fine = all(isinstance(word, str) and word.isalpha() and len(word) <= 9 for word in words)
    if not words or len(words) > 118 or not fine or len(set(words)) < len(words):
        raise CheckpointError(f"shape.{key} must be a list of words, got {found!r:.60}")
    return tuple(words)
