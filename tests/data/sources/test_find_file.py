from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path

import pytest

from gmpool.data.sources.find_file import download, find, missing, sha256


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


def test_download_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: io.BytesIO(b"zip bytes"))
    path = tmp_path / "new" / "a.zip"
    assert download("https://example.org/a.zip", path).read_bytes() == b"zip bytes"
    assert sha256(path) == hashlib.sha256(b"zip bytes").hexdigest()

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionResetError("reset by peer")

    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: Broken())
    with pytest.raises(ConnectionResetError):
        download("https://example.org/b.zip", tmp_path / "new" / "b.zip")
    assert os.listdir(tmp_path / "new") == ["a.zip"]
