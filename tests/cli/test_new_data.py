"""Which inputs are meant, and where what is made of each goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gmpool.cli.new_data import new_data
from gmpool.errors import UserError

OUT = Path("out")


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts" / "more").mkdir(parents=True)
    for name in ("b.csv", "a.csv", "c.smi", "more/d.csv"):
        (tmp_path / "parts" / name).write_text("smiles\nCC\n")


def test_one_input_goes_where_it_is_told() -> None:
    assert new_data(["parts/a.csv"], None, None) == ([("parts/a.csv", None)], None)
    target = Path("p.csv")
    assert new_data(["MUTAG"], target, None) == ([("MUTAG", target)], None)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["parts/*.csv"], ["parts/a.csv", "parts/b.csv"]),
        (["parts/**/*.csv"], ["parts/a.csv", "parts/b.csv", "parts/more/d.csv"]),
        (["parts/c.smi", "parts/[ab].csv"], ["parts/c.smi", "parts/a.csv", "parts/b.csv"]),
        (["parts/?.smi"], ["parts/c.smi"]),
        (["MUTAG", "parts/a.csv"], ["MUTAG", "parts/a.csv"]),
    ],
)
def test_patterns_are_the_files_that_they_fit_in_order(given: list[str], found: list[str]) -> None:
    pairs, folder = new_data(given, OUT, None)
    assert [source for source, _ in pairs] == found
    assert folder == OUT
    assert {target.parent for _, target in pairs if target} == {OUT}


def test_a_file_that_is_called_like_a_pattern_is_that_file() -> None:
    Path("known[v2].csv").write_text("smiles\nCC\n")
    Path("known2.csv").write_text("smiles\nCC\n")
    assert new_data(["known[v2].csv"], None, None).pairs == [("known[v2].csv", None)]


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("x/new.csv", "new.csv"), ("x/new.tsv.gz", "new.tsv.gz"), ("new.parquet", "new.parquet"),
        ("x/new.smi", "new.csv"), ("batch.001.smi", "batch.001.csv"), ("new.smi.gz", "new.csv"),
        ("new.txt", "new.csv"), ("x/set.safetensors", "set.csv"), ("x/y", "y.csv"),
        ("x/SHAPES.v2/", "SHAPES.v2.csv"), ("x/SHAPES.v2/.", "SHAPES.v2.csv"),
        ("MUTAG", "MUTAG.csv"),
    ],
)  # fmt: skip
def test_an_output_is_called_as_its_input(name: str, output: str) -> None:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    if "SHAPES" in name:
        path.mkdir(parents=True)
    elif path.suffix:
        path.write_text("")
    pairs, _ = new_data([name, "parts/a.csv"], OUT, None)
    assert pairs == [(name, OUT / output), ("parts/a.csv", OUT / "a.csv")]


@pytest.mark.parametrize(
    ("given", "out", "says"),
    [
        (["nothing/*.csv"], OUT, r"nothing/\*\.csv: no file is called so"),
        (["parts/*.csv"], None, r"several inputs \(here 2\) are written to a folder: name it with"),
        (["parts/*.smi"], None, r"a pattern and .* \(here 1\) are written to a folder: name it"),
        (["parts/*.csv"], Path("parts/c.smi"), "--out parts/c.smi: .* and this is a file; give"),
        (["parts/*.csv"], Path("all.csv"), "--out all.csv: .* and this is called like a file"),
        (["parts/a.csv", "parts/../a.csv"], OUT, "both be written to out/a.csv; give them to two"),
        (["parts/*.csv"], Path("parts"), "is the input parts/a.csv itself"),
        (["parts/*.csv"], Path("parts/c.smi/x"), "parts/c.smi is a file, not a folder"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(given: list[str], out: Path | None, says: str) -> None:
    before = sorted(Path().rglob("*"))
    with pytest.raises(UserError, match=says) as error:
        new_data(given, out, None)
    assert "\n" not in str(error.value)
    assert sorted(Path().rglob("*")) == before


def test_no_output_is_an_input_of_another() -> None:
    OUT.mkdir()
    os.link("parts/b.csv", OUT / "a.csv")
    with pytest.raises(UserError, match=r"--out out/a\.csv is the input parts/b\.csv itself"):
        new_data(["parts/*.csv"], OUT, None)


def test_a_folder_may_be_called_like_a_file() -> None:
    Path("all.csv").mkdir()
    assert new_data(["parts/*.csv"], Path("all.csv"), None).folder == Path("all.csv")
