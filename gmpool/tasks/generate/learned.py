"""The molecules that a model has learned from, as numbers that tell whether another is new."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from gmpool.errors import CheckpointError
from gmpool.packed_numbers import pack_numbers, unpack_numbers


@dataclass(frozen=True, eq=False)
class Learned:
    """hashes: of canonical SMILES, 64 bits each, ascending."""

    hashes: np.ndarray

    @classmethod
    def of(cls, smiles: Iterable[str]) -> Learned:
        return cls(np.unique(np.array([_hash(text) for text in smiles], dtype="<u8")))

    def __contains__(self, smiles: str) -> bool:
        number = np.uint64(_hash(smiles))
        at = int(np.searchsorted(self.hashes, number))
        return at < len(self.hashes) and bool(self.hashes[at] == number)

    def __len__(self) -> int:
        return len(self.hashes)

    def to_json(self) -> str:
        """What lies between one and the next: shorter than they are."""
        return pack_numbers(np.diff(self.hashes, prepend=np.uint64(0)), "<u8")

    @classmethod
    def from_json(cls, text: object) -> Learned:
        """From a file that anybody may have written: hashes are random, so that no text is shorter
        than their number, and one that says so is not unpacked."""
        try:
            steps = unpack_numbers(text, "<u8", len(text) if isinstance(text, str) else 0)
        except ValueError as error:
            raise CheckpointError(f"shape.learned cannot be read: {error}") from error
        return cls(np.cumsum(steps, dtype="<u8"))


def _hash(smiles: str) -> int:
    return int.from_bytes(blake2b(smiles.encode(), digest_size=8).digest(), "little")
