from __future__ import annotations

import importlib.util
import io
import os
import sys
import urllib.error
from pathlib import Path

import pytest

from gmpool.data import CATALOGUE, dataset_names, sources
from gmpool.errors import DataError


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("urllib.request.urlopen", refuse)


def test_names() -> None:
    assert len(dataset_names()) == 11
    for entry in CATALOGUE.values():
        assert all(len(digest) == 64 for digest in entry.files.values())
        assert len(entry.content) == (64 if entry.kind == "tu" else 0)


def test_the_order_of_places(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [tmp_path / "root", tmp_path / "env", own_cache]
    for place in places:
        place.mkdir(parents=True)
        (place / "DD.zip").touch()
    monkeypatch.setenv("GMPOOL_DATA", str(places[1]))
    assert sources.find("DD", places[0]).parent == places[0]
    assert sources.find("DD").parent == places[1]
    (places[1] / "DD.zip").unlink()
    assert sources.find("DD").parent == own_cache
    folder = places[1] / "DD" / "raw"
    folder.mkdir(parents=True)
    (folder / "DD_A.txt").touch()
    assert sources.find("DD") == folder


@pytest.mark.usefixtures("offline")
def test_missing_files_say_what_to_put_where(tmp_path: Path, own_cache: Path) -> None:
    with pytest.raises(DataError) as caught:
        sources.find("COLLAB", tmp_path)
    text = str(caught.value)
    assert "COLLAB_packed.npz or COLLAB.zip" in text
    assert "no network" in text
    assert f"put it into one of: {tmp_path}, {own_cache}" in text
    with pytest.raises(DataError, match=r"no file ogbg-molhiv\.csv\.gz \(it is not fetched"):
        sources.find("ogbg-molhiv")


@pytest.mark.usefixtures("offline")
def test_mutag_comes_with_grakel(monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("grakel") is None:
        pytest.skip("grakel is not installed")
    monkeypatch.delitem(sys.modules, "grakel", raising=False)
    assert sources.find("MUTAG").parts[-4:] == ("grakel", "tests", "data", "MUTAG")
    assert "grakel" not in sys.modules
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"no file MUTAG\.zip"):
        sources.find("MUTAG")


def test_download_is_all_or_nothing(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(b"zip bytes")

    monkeypatch.setattr("urllib.request.urlopen", answer)
    assert sources.find("DD").read_bytes() == b"zip bytes"
    assert asked == ["https://www.chrsmrrs.com/graphkerneldatasets/DD.zip"]
    assert sources.find("DD") == own_cache / "DD.zip"
    assert len(asked) == 1

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise ConnectionResetError("reset by peer")

    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: Broken())
    with pytest.raises(DataError, match="reset by peer"):
        sources.find("PROTEINS")
    assert os.listdir(own_cache) == ["DD.zip"]
