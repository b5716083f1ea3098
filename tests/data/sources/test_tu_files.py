"""Zips that are damaged, locked, of two sets or far larger than they look."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest
from small_tu import write_tu

from gmpool.data import read_tu
from gmpool.errors import DataError


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return zipped(tmp_path / "set.zip", texts(tmp_path))


def texts(folder: Path) -> dict[str, bytes]:
    made = write_tu(folder / "SET", "SET", graphs=30, nodes=5)
    return {f"SET/{file.name}": file.read_bytes() for file in sorted(made.iterdir())}


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_way_to_compress(archive: Path, tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    assert read_tu(zipped(tmp_path / "b.zip", files, method)).digest == read_tu(archive).digest


def test_a_zip_that_unpacks_to_far_more_than_it_is(tmp_path: Path) -> None:
    files = texts(tmp_path)
    files["SET/SET_graph_indicator.txt"] = b"1\n" * (50 << 20)
    bomb = zipped(tmp_path / "bomb.zip", files)
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(DataError, match=r"bomb\.zip: unpacks to 104,8.* give the folder instead"):
        read_tu(bomb)


def test_a_declared_size_that_is_a_lie(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        size = opened.getinfo("SET/SET_A.txt").file_size
    entry = content.index(b"SET/SET_A.txt", content.index(b"PK\x01\x02")) - 46
    assert content[entry + 24 : entry + 28] == size.to_bytes(4, "little")
    content[entry + 24 : entry + 28] = (40).to_bytes(4, "little")
    archive.write_bytes(content)
    with pytest.raises(DataError, match=r"SET_A\.txt: cannot be read \(Bad CRC-32"):
        read_tu(archive)


def test_a_zip_of_two_sets_and_one_from_a_mac(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    mac = files | {name.replace("SET/", "__MACOSX/SET/._"): b"\x00" for name in files}
    assert len(read_tu(zipped(tmp_path / "mac.zip", mac))) == 30
    two = files | {f"other/{name}": content for name, content in files.items()}
    with pytest.raises(DataError, match=r"two files SET_A\.txt, 'SET/SET_A\.txt' and 'other/SET"):
        read_tu(zipped(tmp_path / "two.zip", two))


def test_an_entry_without_a_name_is_left_aside(archive: Path) -> None:
    want = read_tu(archive).digest
    with zipfile.ZipFile(archive, "a") as zipped_set:
        zipped_set.writestr("?", "")
    archive.write_bytes(archive.read_bytes().replace(b"?", b"\0"))  # a name ends at a zero
    assert read_tu(archive).digest == want


def test_a_locked_zip(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    at = -1
    while (at := content.find(b"PK\x01\x02", at + 1)) >= 0:
        content[at + 8] |= 1  # the flag for a password
    archive.write_bytes(content)
    with pytest.raises(DataError, match=r"SET_graph_indicator\.txt: cannot be read \(.*encrypted"):
        read_tu(archive)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_zips_are_read_or_refused(tmp_path: Path, method: int) -> None:
    path = zipped(tmp_path / "set.zip", texts(tmp_path), method)
    content, want = path.read_bytes(), read_tu(path).digest
    refused = intact = 0
    for seed in range(120):
        rng = random.Random(seed)
        changed = bytearray(content[: rng.choice([len(content), rng.randrange(len(content))])])
        for _ in range(rng.choice([1, 2, 10])):
            if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        try:
            intact += read_tu(path).digest == want
        except DataError as error:
            refused += str(error).startswith(str(path))
    assert refused + intact == 120
    assert refused > 60
