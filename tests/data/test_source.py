from __future__ import annotations

from pathlib import Path

import pytest
from small_sets import dataset

from gmpool.data import CATALOGUE, SOURCES, Source, load
from gmpool.data.source import source_of
from gmpool.errors import DataError, UserError


def test_the_sources_are_found_where_they_lie() -> None:
    assert set(SOURCES) == {"generated", "molecule-set", "packed", "table", "tu", "tu-set"}


def test_every_name_has_one_source() -> None:
    names = [name for source in SOURCES for name in SOURCES[source].names()]
    assert len(names) == len(set(names))
    assert set(names) == {*CATALOGUE, "ring", "grid"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MUTAG", "tu-set"),
        ("ZINC", "molecule-set"),
        ("ring", "generated"),
        ("x.csv", "table"),
        ("x.tsv.xz", "table"),
        ("x.zip", "tu"),
        ("x.safetensors", "packed"),
        ("folder", "tu"),
        ("folder.csv", "tu"),
        ("folder.safetensors", "tu"),
        ("MUTAGG", None),
        ("x.pdf", None),
    ],
)
def test_whose_kind_a_name_or_path_is(
    name: str, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "folder.csv", "folder.safetensors"):
        (tmp_path / folder).mkdir()
    assert source_of(name) is (None if kind is None else SOURCES[kind])
    accepting = [each for each in SOURCES if SOURCES[each].accepts(Path(name))]
    assert len(accepting) <= 1, "which of them came first must not matter"


def test_a_new_source_serves_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list(SOURCES)  # they are looked for once
    monkeypatch.setattr(SOURCES, "_items", dict(SOURCES._items))
    SOURCES.register("shapes")(
        Source(
            load=lambda name, root: dataset(),
            names=lambda: ("shapes",),
            accepts=lambda path: path.suffix == ".shapes",
            files=".shapes",
        )
    )
    assert load("shapes").name == load(tmp_path / "mine.shapes").name == "shapes"
    (tmp_path / "x.pdf").touch()
    with pytest.raises(DataError, match=r"\.safetensors.*\.shapes"):
        load(tmp_path / "x.pdf")
    with pytest.raises(UserError, match="did you mean 'shapes'"):
        load("shape")
