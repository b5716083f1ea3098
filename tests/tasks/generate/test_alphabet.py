"""What molecules are written in, and one that a file says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gmpool.errors import CheckpointError, UserError
from gmpool.tasks.generate.alphabet import BONDS, MOST_PLACES, Alphabet

FINE = {"places": 9, "elements": ["C", "N"], "bonds": ["SINGLE", "AROMATIC"]}


def test_sizes() -> None:
    alphabet = Alphabet(9, ("C", "N", "O", "F"))
    assert alphabet.bonds == BONDS
    assert (alphabet.pairs, alphabet.width) == (36, 45)
    assert (alphabet.atom_kinds, alphabet.bond_kinds) == (5, 5), "with none"


@pytest.mark.parametrize(
    "alphabet",
    [
        Alphabet(2, ("C",), ("TRIPLE",)),
        Alphabet(MOST_PLACES, ("C", "Cl", "Og")),
        Alphabet(9, ("N",)),
    ],
)
def test_there_and_back_through_a_file(alphabet: Alphabet) -> None:
    assert Alphabet.from_json(json.loads(json.dumps(alphabet.to_json()))) == alphabet


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"places": 10**6}, "shape.places must be from 2 to 100, got 1000000"),
        ({"places": 1}, "shape.places must be from 2 to 100, got 1"),
        ({"places": -3}, "shape.places must be from 2 to 100, got -3"),
        ({"places": True}, "shape.places must be from 2 to 100, got True"),
        ({"places": 9.0}, "shape.places must be from 2 to 100, got 9.0"),
        ({"places": "9"}, "shape.places must be from 2 to 100, got '9'"),
        ({"places": None}, "shape.places must be from 2 to 100, got None"),
        ({"places": 10**70}, "shape.places must be from 2 to 100, got 1000"),
        ({"elements": "CNO"}, "shape.elements must be a list of words, got 'CNO'"),
        ({"elements": []}, r"shape.elements must be a list of words, got \[\]"),
        ({"elements": ["C", "C"]}, r"shape.elements must be a list of words, got \['C', 'C'\]"),
        ({"elements": ["C", 7]}, r"shape.elements must be a list of words, got \['C', 7\]"),
        ({"elements": [["C"]]}, r"shape.elements must be a list of words, got \[\['C'\]\]"),
        ({"elements": [""]}, "shape.elements must be a list of words"),
        ({"elements": ["<b>"]}, "shape.elements must be a list of words"),
        ({"elements": ["\x1b[31m"]}, "shape.elements must be a list of words"),
        ({"elements": ["C" * 10]}, "shape.elements must be a list of words"),
        ({"elements": {"C": 1}}, "shape.elements must be a list of words"),
        ({"elements": [f"A{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(119)]},
         "shape.elements must be a list of words, got .{0,60}$"),
        ({"bonds": None}, "shape.bonds must be a list of words, got None"),
        ({"bonds": []}, "shape.bonds must be a list of words"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_told_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        Alphabet.from_json({**FINE, **changes})


def test_kinds_and_parts_that_there_are_not() -> None:
    with pytest.raises(UserError, match=r"unknown kind of bond 'SINGEL'; did you mean 'SINGLE'\?"):
        Alphabet.from_json({**FINE, "bonds": ["SINGEL"]})
    with pytest.raises(UserError, match=r"unknown part of an alphabet 'place'; did you mean"):
        Alphabet.from_json({**FINE, "place": 3})


@pytest.mark.parametrize("missing", FINE)
def test_what_is_missing_is_named(missing: str) -> None:
    rest = {key: value for key, value in FINE.items() if key != missing}
    with pytest.raises(CheckpointError, match=rf"^shape\.{missing} is missing$"):
        Alphabet.from_json(rest)


@pytest.mark.parametrize("value", [None, 3, "shape", ["places"]])
def test_what_is_no_object_at_all(value: object) -> None:
    with pytest.raises(CheckpointError, match="shape must be an object, got "):
        Alphabet.from_json(value)
