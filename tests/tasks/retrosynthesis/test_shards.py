"""Candidates in files that a later try finds again: the same bytes, however they came about."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from reactions import REACTIONS

from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.candidates import Finder
from gmpool.tasks.retrosynthesis.chemistry import extracted_template, read_reaction
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.shards import Shards

pytest.importorskip("rdchiral")

PRODUCTS = [read_reaction(text)[0] for text in REACTIONS]
LIBRARY = TemplateLibrary.of(("", extracted_template(text)) for text in REACTIONS)


def begun(folder: Path, size: int = 5) -> Shards:
    return Shards(folder, LIBRARY, PRODUCTS, size=size)


def made(folder: Path, **options: object) -> Shards:
    shards = begun(folder)
    shards.make(**options)  # type: ignore[arg-type]
    return shards


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_they_hold_the_candidates_of_each_product_in_order(tmp_path: Path) -> None:
    told: list[int] = []
    shards = made(tmp_path, done=told.append)
    find = Finder(LIBRARY)
    assert list(shards) == [find(product) for product in PRODUCTS]
    assert told == [5, 5, 5, 4]
    names = [f"{number:05d}.jsonl.xz" for number in range(4)]
    assert [path.name for path in sorted(tmp_path.iterdir())] == [*names, "plan.json"]


def test_what_is_left_is_made_again_to_the_same_bytes(tmp_path: Path) -> None:
    first = bytes_of(tmp_path) if made(tmp_path) else {}
    for number in (0, 2):
        (tmp_path / f"{number:05d}.jsonl.xz").unlink()
    again, told = begun(tmp_path), list[int]()
    assert again.left == [0, 2]
    again.make(done=told.append)
    assert bytes_of(tmp_path) == first
    assert told == [5, 5], "what is there is not made again"
    assert again.left == []


def test_two_workers_make_the_same_bytes(tmp_path: Path) -> None:
    made(tmp_path / "one")
    made(tmp_path / "two", workers=2)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_other_templates_or_products_are_refused(tmp_path: Path) -> None:
    made(tmp_path)
    fewer = TemplateLibrary.of([("", LIBRARY.templates[0])])
    for library, products in ((fewer, PRODUCTS), (LIBRARY, PRODUCTS[::-1])):
        with pytest.raises(DataError, match="holds candidates of other templates or products"):
            Shards(tmp_path, library, products, size=5)
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(DataError, match="give another folder, or delete this one"):
        begun(tmp_path)


def test_another_size_of_files_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(DataError, match="other templates or products"):
        begun(tmp_path, size=7)


def cut_off(path: Path) -> None:
    lines = lzma.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    path.write_bytes(lzma.compress("".join(lines[:-1]).encode()))


def without_a_field(path: Path) -> None:
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    line = {key: value for key, value in json.loads(lines[0]).items() if key != "runs"}
    path.write_bytes(lzma.compress("\n".join([json.dumps(line), *lines[1:]]).encode()))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: path.unlink(), "00001.jsonl.xz: is missing; prepare once more to make it"),
        (lambda path: path.write_bytes(b""), "is damaged .*; delete it, and prepare once more"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "is damaged"),
        (lambda path: path.write_bytes(b"\xfd" + path.read_bytes()[1:40]), "is damaged"),
        (lambda path: path.write_bytes(lzma.compress(b"\xff\xfe")), "is damaged"),
        (lambda path: path.write_bytes(lzma.compress(b"5\n5\n5\n5\n5\n")), "is damaged"),
        (without_a_field, "is damaged"),
        (cut_off, "is cut off; delete it, and prepare once more"),
    ],
)
def test_a_file_that_is_not_whole_is_named(tmp_path: Path, harm, message: str) -> None:
    shards = made(tmp_path)
    harm(tmp_path / "00001.jsonl.xz")
    found = iter(shards)
    for _ in range(5):
        next(found)
    with pytest.raises(DataError, match=message) as error:
        next(found)
    assert str(tmp_path / "00001.jsonl.xz") in str(error.value)


def test_products_that_take_too_long_have_none(tmp_path: Path) -> None:
    assert list(made(tmp_path, seconds=-1.0)) == [None] * len(PRODUCTS)
