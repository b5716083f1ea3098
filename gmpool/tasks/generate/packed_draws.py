"""Drawn molecules as a short text, for rows that are recorded where RDKit is not installed."""

from __future__ import annotations

import numpy as np

from gmpool.errors import DataError
from gmpool.packed_numbers import pack_numbers, unpack_numbers
from gmpool.tasks.generate.alphabet import Alphabet


def pack_draws(rows: np.ndarray, alphabet: Alphabet) -> str:
    """rows: uint8 [M, width]. Several neighbouring kinds are the digits of one byte."""
    packed = [
        rows[:, part].astype(np.int64) @ base ** np.arange(part.stop - part.start)
        for part, base in _bytes(alphabet)
    ]
    return pack_numbers(np.stack(packed, axis=1), "<u1")


def unpack_draws(text: str, alphabet: Alphabet, most: int) -> np.ndarray:
    """The rows again, uint8 [M, width]. A text may come from anybody: one that cannot be read or
    holds more than `most` molecules raises DataError."""
    parts = _bytes(alphabet)
    try:
        found = unpack_numbers(text, "<u1", most * len(parts))
    except ValueError as error:
        raise DataError(
            f"recorded molecules, {most:,} at most, cannot be read: {error}; they were changed, or "
            f"belong to another alphabet: run it again"
        ) from error
    if len(found) % len(parts):
        raise DataError(
            f"recorded molecules end within one: {len(found)} bytes, {len(parts)} to each; they "
            f"belong to another alphabet"
        )
    packed = found.reshape(-1, len(parts)).astype(np.int64)
    rows = np.empty((len(packed), alphabet.width), dtype=np.uint8)
    for column, (part, base) in zip(packed.T, parts, strict=True):
        digits = part.stop - part.start
        if (column >= base**digits).any():
            raise DataError(
                f"recorded molecules hold the byte {column.max()} where {digits} kinds of {base} "
                f"make less than {base**digits}; they belong to another alphabet"
            )
        rows[:, part] = column[:, None] // base ** np.arange(digits) % base
    return rows


def _bytes(alphabet: Alphabet) -> list[tuple[slice, int]]:
    """For each byte of a molecule: which columns it holds, and their number of kinds."""
    found, places = [], alphabet.places
    for start, end, base in (
        (0, places, alphabet.atom_kinds), (places, alphabet.width, alphabet.bond_kinds)
    ):  # fmt: skip
        digits = next(n for n in range(8, 0, -1) if base**n <= 256)
        found += [(slice(a, min(a + digits, end)), base) for a in range(start, end, digits)]
    return found
