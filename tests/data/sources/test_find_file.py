from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from local_server import serving

from gmpool.data.sources.find_file import download, find, missing, sha256
from gmpool.errors import DataError


def test_the_order_of_places(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / "root", tmp_path / "env", own_cache]
    for place in places:
        place.mkdir(parents=True)
        (place / "b.zip").touch()
    monkeypatch.setenv("GMPOOL_DATA", str(places[1]))
    files = ["a.zip", "b.zip"]
    assert find(files, str(places[0])) == places[0] / "b.zip"
    assert find(files) == places[1] / "b.zip"
    (places[1] / "a.zip").touch()
    assert find(files) == places[1] / "a.zip"
    for file in files:
        (places[1] / file).unlink()
    assert find(files) == own_cache / "b.zip"
    assert find(["c.zip"]) is None


def test_missing_files_say_what_to_put_where(tmp_path: Path, own_cache: Path) -> None:
    text = str(missing("X", ("a.zip", "b.zip"), "no network", tmp_path))
    assert text.startswith("dataset 'X': no file a.zip or b.zip (no network); put it into one of:")
    assert f"{tmp_path}, {own_cache}" in text


def test_a_download_is_whole_and_what_was_expected(tmp_path: Path) -> None:
    path, want = tmp_path / "new" / "a.zip", hashlib.sha256(b"zip bytes").hexdigest()
    with serving({"a.zip": b"zip bytes"}) as (home, _):
        assert download(f"{home}/a.zip", path, limit=9, expected=want).read_bytes() == b"zip bytes"
        assert sha256(path) == want
        with pytest.raises(DataError, match="does not match the known hash"):
            download(f"{home}/a.zip", tmp_path / "new" / "b", limit=9, expected="0" * 64)
        with pytest.raises(OSError, match="404"):
            download(f"{home}/other.zip", tmp_path / "new" / "c", limit=9)
    assert os.listdir(path.parent) == ["a.zip"]


@pytest.mark.parametrize(
    ("size", "says", "kind", "message"),
    [
        (4 << 20, {}, DataError, r"a\.zip: larger than the 1,000 bytes .* fetch it yourself"),
        (4 << 20, {"silent": True}, DataError, "larger than the 1,000 bytes"),
        (10, {"declared": 1 << 40}, DataError, "larger than the 1,000 bytes"),
        (10, {"declared": 500}, OSError, "10 bytes read, 490 more expected"),
    ],
)
def test_downloads_that_are_too_large_or_cut_off(
    size: int, says: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    with (
        serving({"a.zip": b"x" * size}, **says) as (home, _),
        pytest.raises(kind, match=message),
    ):
        download(f"{home}/a.zip", tmp_path / "a.zip", limit=1000)
    assert os.listdir(tmp_path) == []


def test_no_network_and_no_pooch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({}) as (home, _):
        pass
    with pytest.raises(OSError, match="refused"):
        download(f"{home}/a.zip", tmp_path / "a.zip", limit=1000)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(OSError, match="'pooch' is not installed"):
        download(f"{home}/a.zip", tmp_path / "a.zip", limit=1000)
