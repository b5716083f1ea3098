"""What a model has learned from, as numbers that tell whether a molecule is new."""

from __future__ import annotations

import base64
import tracemalloc
import zlib

import numpy as np
import pytest
from tiny_gan import ALPHABET

from gmpool.errors import CheckpointError
from gmpool.packed_numbers import pack_numbers
from gmpool.tasks.generate.learned import Learned
from gmpool.tasks.generate.model import Shape


def test_it_knows_what_it_has_seen_and_nothing_else() -> None:
    learned = Learned.of(["CC", "CO", "CC", "CCO"])
    assert len(learned) == 3, "each once"
    for smiles in ("CC", "CO", "CCO"):
        assert smiles in learned
    for smiles in ("CCC", "", "cc", "CC "):
        assert smiles not in learned
    assert "CC" not in Learned.of([])


def test_of_many_none_is_lost_or_made_up() -> None:
    learned = Learned.of(f"C{number}" for number in range(2000))
    assert len(learned) == 2000
    assert all(f"C{number}" in learned for number in range(2000))
    assert not any(f"N{number}" in learned for number in range(2000))


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_there_and_back(count: int) -> None:
    learned = Learned.of(f"C{number}" for number in range(count))
    text = learned.to_json()
    assert text.isascii()
    again = Learned.from_json(text)
    assert np.array_equal(again.hashes, learned.hashes)
    assert again.to_json() == text
    assert len(text) < 120 + 11 * count, "what lies between is short"


def test_the_same_number_for_the_same_text_on_every_machine() -> None:
    assert Learned.of(["CCO"]).hashes.tolist() == [14074757553414938733]


def test_a_shape_keeps_it_and_does_without() -> None:
    learned = Learned.of(["CC", "CO"])
    there = Shape.from_json(Shape(ALPHABET, learned).to_json())
    assert there.learned is not None
    assert np.array_equal(there.learned.hashes, learned.hashes)
    assert there.alphabet == ALPHABET
    assert "learned" not in Shape(ALPHABET).to_json()
    assert Shape.from_json(Shape(ALPHABET).to_json()) == Shape(ALPHABET)


WHOLE = Learned.of(["CC", "CO", "CCO"]).to_json()
DAMAGED = {
    "no text": (7, r"expected text \(got int\)"),
    "a list": ([1, 2], r"expected text \(got list\)"),
    "no base64": ("CC, CO!", ""),
    "letters of another alphabet": ("äöü=", ""),
    "empty": ("", "it does not end where it should"),
    "no zlib": (base64.b64encode(b"molecules").decode(), "incorrect header check"),
    "cut off": (WHOLE[: len(WHOLE) // 8 * 4], "it does not end where it should"),
    "half a number": (base64.b64encode(zlib.compress(b"abc")).decode(), "it does not end where"),
}


@pytest.mark.parametrize("which", DAMAGED)
def test_a_damaged_text_is_told(which: str) -> None:
    text, said = DAMAGED[which]
    with pytest.raises(CheckpointError, match=f"shape.learned cannot be read: .*{said}"):
        Learned.from_json(text)


def test_a_bomb_is_not_unpacked() -> None:
    """A text of 40 kB that says 4 million numbers, and would take 64 MB."""
    bomb = pack_numbers(np.zeros(4_000_000), "<u8")
    assert len(bomb) < 50_000
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=r"it holds more than [\d,]+ numbers"):
            Learned.from_json(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_numbers_that_wrap_around_are_no_reason_to_fail() -> None:
    """Whoever writes nonsense gets a model that knows other molecules, and no crash."""
    steps = np.full(2, 2**64 - 1, dtype="<u8")
    learned = Learned.from_json(pack_numbers(steps, "<u8"))
    assert len(learned) == 2
    assert "CC" not in learned
