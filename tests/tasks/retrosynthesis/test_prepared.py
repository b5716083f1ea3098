"""One file holds a prepared set; what is no such file, or no whole one, says so."""

from __future__ import annotations

import json
import lzma
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_reactions import made_up

from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis import prepared as module
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.pack import pack
from gmpool.tasks.retrosynthesis.prepared import ARRAYS, Prepared

pytest.importorskip("rdkit")

SET = made_up()
MARK = len(b"gmpool retro\n")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    SET.prepared.save(tmp_path / "set.retro")
    return tmp_path / "set.retro"


def test_what_is_saved_is_loaded(saved: Path) -> None:
    found, first = Prepared.load(saved), SET.prepared
    assert found.library == first.library
    assert found.about == first.about
    assert found.name == "made up"
    assert list(found.arrays) == list(ARRAYS)
    for name, values in first.arrays.items():
        assert np.array_equal(found.arrays[name], values), name
        assert found.arrays[name].dtype == ARRAYS[name]
    assert found.digest == first.digest
    assert found.smiles == first.smiles


def test_the_same_set_is_the_same_file(saved: Path, tmp_path: Path) -> None:
    made_up().prepared.save(tmp_path / "again.retro")
    assert saved.read_bytes() == (tmp_path / "again.retro").read_bytes()


def test_it_holds_what_it_was_made_of(saved: Path) -> None:
    """Every product, outcome and truth, by its SMILES."""
    a, smiles = Prepared.load(saved).arrays, Prepared.load(saved).smiles
    molecule = iter(a["products.outcomes"].tolist())
    count = iter(a["products.molecule_counts"].tolist())
    for at, found in enumerate(SET.candidates):
        assert smiles[a["products.molecule"][at]] == SET.products[at]
        assert a["products.outcome_counts"][at] == len(found.outcomes)
        for outcome in found.outcomes:
            assert tuple(smiles[next(molecule)] for _ in range(next(count))) == outcome
    for number, reaction in enumerate(SET.table.reactions):
        outcomes = SET.candidates_of(number).outcomes
        truth = int(a["reactions.truth"][number])
        if reaction.reactants in outcomes:
            assert outcomes[truth] == reaction.reactants
        else:
            assert truth == -1
        assert a["reactions.line"][number] == number + 2


def test_smiles_may_stay_behind(tmp_path: Path) -> None:
    first = SET.prepared
    first.save(tmp_path / "small.retro", smiles=False)
    found = Prepared.load(tmp_path / "small.retro")
    assert found.digest == first.digest, "they are not learned from"
    with pytest.raises(DataError, match="made up: was prepared without SMILES"):
        _ = found.smiles


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "smiles"])
def test_every_number_counts_in_the_digest(name: str) -> None:
    values = SET.prepared.arrays[name].copy()
    values[-1] ^= 1
    other = replace(SET.prepared, arrays={**SET.prepared.arrays, name: values})
    assert other.digest != SET.prepared.digest


def test_templates_count_in_the_digest() -> None:
    library = TemplateLibrary.of([("1", template) for template in SET.library.templates])
    assert replace(SET.prepared, library=library).digest != SET.prepared.digest


@pytest.mark.parametrize("content", [b"", b"gmpool", b"PK\x03\x04", b"reaction\nCO>>C\n"])
def test_what_is_no_such_file_says_how_to_make_one(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"other.csv: is no prepared set .* gmpool retro prepare"):
        Prepared.load(path)


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.retro: cannot be read \(No such file or directory"):
        Prepared.load(tmp_path / "none.retro")


@pytest.mark.parametrize("end", [MARK, MARK + 3, MARK + 8, MARK + 60, -2000, -40, -1])
def test_a_file_that_is_cut_off_is_damaged(end: int, saved: Path) -> None:
    saved.write_bytes(saved.read_bytes()[:end])
    with pytest.raises(DataError, match=r"set.retro: is damaged"):
        Prepared.load(saved)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_byte_that_flips_is_noticed(share: float, saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[MARK + int(share * (len(data) - MARK))] ^= 0x10
    saved.write_bytes(data)
    with pytest.raises(DataError, match=r"set.retro: is damaged"):
        Prepared.load(saved)


def with_header(path: Path, **changes: Any) -> None:
    """Rewritten by somebody who can, numbers as they are."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[MARK : MARK + 8])
    header = json.loads(lzma.decompress(data[MARK + 8 : MARK + 8 + length])) | changes
    words = lzma.compress(json.dumps(header).encode())
    rest = data[MARK + 8 + length :]
    path.write_bytes(data[:MARK] + struct.pack("<Q", len(words)) + words + rest)


def test_another_version_is_said(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VERSION", 99)
    with pytest.raises(DataError, match=r"by another version of gmpool \(1, not 99\)"):
        Prepared.load(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"digest": "0" * 64}, "is damaged: its content is not what its header says"),
        ({"lengths": {}}, "is damaged"),
        ({"lengths": dict.fromkeys(ARRAYS, 0)}, "more numbers than the header says"),
        ({"lengths": dict.fromkeys(ARRAYS, 10**6)}, "is damaged"),
        ({"lengths": []}, "is damaged"),
        ({"library": {}}, "list of templates cannot be read"),
        ({"library": SET.library.to_json() | {"center_of": []}}, "does not fit together"),
        ({"library": None}, "list of templates cannot be read"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(
    changes: dict[str, Any], message: str, saved: Path
) -> None:
    with_header(saved, **changes)
    with pytest.raises(DataError, match=message):
        Prepared.load(saved)


def test_more_than_it_can_hold_is_refused() -> None:
    """No molecule has more than 255 atoms."""
    reaction = SET.table.reactions[0]._replace(product="C" * 256)
    table = replace(SET.table, reactions=[reaction])
    with pytest.raises(DataError, match=r"molecules.sizes: 256 is more than a prepared set can"):
        pack(table, SET.library, ["C" * 256], [None])
