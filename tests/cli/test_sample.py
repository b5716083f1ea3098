"""`gmpool generate sample`: new molecules of a saved model, valid, each once."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch
from few_molecules import FEW, few_molecules, write_table
from said import Said
from saved_models import rewrite
from small_sets import MODEL, TEN_MOLECULES

import gmpool
from gmpool.data import from_smiles
from gmpool.engine.checkpoint import save_model
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.learned import Learned
from gmpool.tasks.generate.model import MolGAN, Shape
from gmpool.tasks.generate.scores import MEASURES, canonical
from gmpool.tasks.generate.settings import MolGANConfig
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS

pytest.importorskip("rdkit")
Cli = Callable[..., Said]
SAMPLE = ("generate", "sample", "m", "--device", "cpu")
HEADER = ["smiles", "new", "qed", "logp", "sa"]
KNOWN = ("CC", "CO", "CCO")
"""What the model has learned from, of FEW."""


def save_gan(molecules: SmallMolecules, learned: Learned | None, folder: str = "m") -> None:
    """One that was never trained: some of what it draws is valid."""
    torch.manual_seed(0)
    config = MolGANConfig("mean", conv_dim=4, pool_dim=4, generator_dim=4)
    model = MolGAN(Shape(molecules.alphabet, learned), config)
    save_model(TASKS["generate"], model, Path(folder), {"key": "k"})


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_gan(few_molecules(), Learned.of(KNOWN))


def rows_in(text: str) -> list[list[str]]:
    header, *rows = csv.reader(io.StringIO(text))
    assert header == HEADER
    return rows


def test_rows_are_valid_distinct_and_say_whether_they_are_new(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*SAMPLE, "--number", 200, "--seed", 1, "--out", "new.csv")
    assert (said.code, said.out) == (0, "")
    rows = rows_in(Path("new.csv").read_text())
    smiles = [row[0] for row in rows]
    assert len(rows) > 5
    assert len({*smiles}) == len(smiles)
    assert canonical(smiles) == smiles, "RDKit reads each, and they are written as it would"
    assert all("." not in text and "*" not in text for text in smiles)
    assert [row[1] for row in rows] == ["no" if text in KNOWN else "yes" for text in smiles]
    assert {row[1] for row in rows} == {"yes", "no"}
    for name, measure in MEASURES.items():
        from rdkit import Chem

        expected = [measure(Chem.MolFromSmiles(text)) for text in smiles]
        at = HEADER.index(name)
        assert [float(row[at]) for row in rows] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    new = sum(row[1] == "yes" for row in rows)
    drawn, known, written = said.err.splitlines()
    assert drawn.startswith("200 drawn: ")
    assert drawn.endswith(f" valid, {len(rows)} of them different")
    assert len(rows) < int(drawn.split()[2]) < 200
    assert known == f"new to the 3 molecules it learned from: {new}"
    assert written == "written: new.csv"


def test_the_same_seed_the_same_file_and_another_others(gmpool_cli: Cli) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert gmpool_cli(*SAMPLE, "--number", 60, "--seed", seed, "--out", f"{name}.csv").code == 0
    a, b, c = (Path(f"{name}.csv").read_bytes() for name in "abc")
    assert a == b
    assert a != c
    more = gmpool_cli(*SAMPLE, "--number", 90, "--seed", 1)
    assert more.out.encode().startswith(a), "the first of them are the same"


def test_other_endings_hold_the_same_rows(gmpool_cli: Cli) -> None:
    printed = gmpool_cli(*SAMPLE, "--number", 80)
    assert printed.code == 0
    for name in ("new.csv.gz", "new.tsv", "new.parquet"):
        said = gmpool_cli(*SAMPLE, "--number", 80, "--out", name)
        assert said.code == 0, said.err
        assert said.err == f"{printed.err}written: {name}\n"
    assert gzip.decompress(Path("new.csv.gz").read_bytes()).decode() == printed.out
    assert Path("new.tsv").read_text() == printed.out.replace(",", "\t")
    table = pandas.read_parquet("new.parquet")
    assert list(table.columns) == HEADER
    assert [table[name].dtype.kind for name in HEADER[2:]] == ["f"] * 3
    assert table["smiles"].tolist() == [row[0] for row in rows_in(printed.out)]


def test_in_python_they_are_those_of_the_command(gmpool_cli: Cli) -> None:
    made = gmpool.load_model("m").sample(50)
    assert made.columns == HEADER
    said = gmpool_cli(*SAMPLE, "--number", 50, "--seed", 0)
    assert [[row[0], row[1]] for row in made.rows] == [row[:2] for row in rows_in(said.out)]
    assert [f"{row[2]:.6g}" for row in made.rows] == [row[2] for row in rows_in(said.out)]
    assert "".join(f"{line}\n" for line in made.about) == said.err


def test_a_page_with_a_picture_of_each(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*SAMPLE, "--number", 60, "--out", "new.csv", "--pictures", "new.html")
    assert said.code == 0, said.err
    assert said.err.endswith("written: new.csv\npictures: new.html\n")
    page, rows = Path("new.html").read_text(), rows_in(Path("new.csv").read_text())
    for row in rows:
        assert row[0] in page
    assert page.count("<svg") + page.count("<img") == len(rows)


def test_a_model_of_a_machine_without_rdkit_does_not_know_what_is_new(gmpool_cli: Cli) -> None:
    save_gan(few_molecules(), None)
    said = gmpool_cli(*SAMPLE, "--number", 60)
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "smiles,qed,logp,sa"
    assert said.err.endswith(
        "whether they are new is not known: the model was trained where RDKit is not installed\n"
    )


def test_nothing_that_is_valid_is_a_table_without_rows(gmpool_cli: Cli) -> None:
    save_gan(few_molecules(["C" * 60]), Learned.of(["C" * 60]))
    said = gmpool_cli(*SAMPLE, "--number", 3, "--pictures", "none.html")
    assert (said.code, said.out) == (0, ",".join(HEADER) + "\n")
    assert said.err.startswith("3 drawn: 0 valid, 0 of them different\nnew to the 1 molecules")
    assert "<html" in Path("none.html").read_text()


MISTAKES: dict[str, tuple[list[object], str]] = {
    "none": (["--number", 0], "option number must lie between 1 and 10,000,000, got 0"),
    "fewer": (["--number", -1], "option number must lie between 1 and 10,000,000, got -1"),
    "too many": (
        ["--number", 10**8], "option number must lie between 1 and 10,000,000, got 100000000"
    ),
    "negative seed": (["--seed", -1], "option seed must lie between 0 and 1,048,575, got -1"),
    "large seed": (["--seed", 2**70], f"option seed must lie between 0 and 1,048,575, got {2**70}"),
    "a picture": (["--pictures", "x.png"], "--pictures ends in .html; got x.png"),
    "pictures over a folder": (
        ["--pictures", "folder.html"],
        "--pictures folder.html: there is a folder of that name; give a file in it",
    ),
    "a folder": (
        ["--out", "folder.csv"],
        "--out folder.csv: there is a folder of that name; give a file in it",
    ),
    "another ending": (
        ["--out", "x.txt"],
        "--out ends in .csv, .csv.gz, .csv.xz, .tsv, .tsv.gz, .tsv.xz, .parquet; got x.txt",
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", MISTAKES)
def test_mistakes(which: str, gmpool_cli: Cli) -> None:
    for name in ("folder.csv", "folder.html"):
        Path(name).mkdir()
    words, message = MISTAKES[which]
    said = gmpool_cli(*SAMPLE, *words)
    assert (said.code, said.out, said.err) == (2, "", f"error: {message}\n")


def test_models_that_make_nothing_and_models_that_predict_nothing(gmpool_cli: Cli) -> None:
    labels = torch.arange(10.0) % 2
    graphs = from_smiles(TEN_MOLECULES, labels, task="binary", task_names=["toxic"])
    save_model(TASKS["classify"], GraphModel(DataShape.of(graphs), MODEL), Path("other"), {})
    said = gmpool_cli("generate", "sample", "other", "--out", "x.csv")
    assert (said.code, said.err) == (2, "error: a model of classify makes nothing of nothing\n")
    assert not Path("x.csv").exists()
    write_table("few.csv", FEW)
    said = gmpool_cli("predict", "m", "few.csv")
    assert (said.code, said.err) == (2, "error: a model of generate makes no predictions\n")
    said = gmpool_cli("generate", "sample", "nowhere")
    assert said.code == 2
    assert said.err.startswith("error: nowhere is not a saved model: model.safetensors is missing")


AGAIN = "copy the folder again, or train again"
HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "a million places": (
        {"places": 10**6},
        f"cannot be read: shape.places must be from 2 to 100, got 1000000; {AGAIN}",
    ),
    "words that are none": (
        {"elements": ["C", "<script>"]},
        f"cannot be read: shape.elements must be a list of words, got ['C', '<script>']; {AGAIN}",
    ),
    "other elements": ({"elements": ["C", "Zz"]}, "'Zz' is no chemical element that RDKit knows"),
    "what was learned": (
        {"learned": "no base64!"}, "cannot be read: shape.learned cannot be read: "
    ),
    "more places than weights": ({"places": 100}, "(4 of 25 tensors differ)"),
}  # fmt: skip


@pytest.mark.parametrize("which", HOSTILE)
def test_models_that_somebody_has_changed(which: str, gmpool_cli: Cli) -> None:
    changes, message = HOSTILE[which]
    rewrite(Path("m"), lambda values: values["shape"].update(changes))
    said = gmpool_cli(*SAMPLE, "--number", 5)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert message in said.err


def test_a_model_of_a_newer_version(gmpool_cli: Cli) -> None:
    rewrite(Path("m"), lambda values: values.update(format=99))
    said = gmpool_cli(*SAMPLE)
    assert (said.code, said.err) == (
        2,
        "error: m/model.safetensors has format 99, this version of gmpool reads 4; use the version "
        "that wrote it, or train again\n",
    )
