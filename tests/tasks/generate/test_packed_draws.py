"""Drawn molecules as texts."""

from __future__ import annotations

import numpy as np
import pytest

from gmpool.errors import DataError
from gmpool.packed_numbers import pack_numbers
from gmpool.tasks.generate.alphabet import BONDS, Alphabet
from gmpool.tasks.generate.packed_draws import pack_draws, unpack_draws

QM9 = Alphabet(9, ("C", "N", "O", "F"))


def drawn(alphabet: Alphabet, count: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    atoms = generator.integers(alphabet.atom_kinds, size=(count, alphabet.places))
    bonds = generator.integers(alphabet.bond_kinds, size=(count, alphabet.pairs))
    return np.concatenate([atoms, bonds], axis=1).astype(np.uint8)


@pytest.mark.parametrize("places", [2, 3, 9, 20])
@pytest.mark.parametrize("elements", [1, 4, 15, 16, 118])
@pytest.mark.parametrize("bonds", [1, 3, 4])
def test_there_and_back(places: int, elements: int, bonds: int) -> None:
    names = tuple(chr(ord("A") + n // 26) + chr(ord("a") + n % 26) for n in range(elements))
    alphabet = Alphabet(places, names, BONDS[:bonds])
    for count in (0, 1, 50):
        rows = drawn(alphabet, count)
        found = unpack_draws(pack_draws(rows, alphabet), alphabet, most=50)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, rows)


def test_they_are_short() -> None:
    rows = drawn(QM9, 1000)
    assert len(pack_draws(rows, QM9)) < 0.9 * len(pack_numbers(rows, "<u1")), "hardest to pack"
    few = rows[np.random.default_rng(1).integers(10, size=1000)]
    assert len(pack_draws(few, QM9)) < len(pack_draws(rows, QM9)) / 5


def test_what_does_not_fit_is_refused() -> None:
    text = pack_draws(drawn(QM9, 5), QM9)
    with pytest.raises(DataError, match="4 at most, cannot be read: it holds more than 60 numbers"):
        unpack_draws(text, QM9, most=4)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_draws("no base64!", QM9, most=5)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_draws(text[:16], QM9, most=5)
    with pytest.raises(DataError, match="end within one: 16 bytes, 15 to each"):
        unpack_draws(pack_numbers(np.zeros(16), "<u1"), QM9, most=5)
    with pytest.raises(DataError, match="the byte 125 where 3 kinds of 5 make less than 125"):
        unpack_draws(pack_numbers(np.full(15, 125), "<u1"), QM9, most=5)
