"""`gmpool retro prepare`, `train` and `predict`, one after the other, and what can go wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
import torch
from few_molecules import few_molecules
from reactions import small_set, write_csv
from said import Said
from saved_models import rewrite
from small_gln import config_of

from gmpool.engine.checkpoint import save_model
from gmpool.tasks.generate.model import MolGAN
from gmpool.tasks.generate.model import Shape as GanShape
from gmpool.tasks.generate.settings import MolGANConfig
from gmpool.tasks.retrosynthesis.answers import COLUMNS, NOTHING
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.prepared import Prepared
from gmpool.tasks.retrosynthesis.task import shape_of
from gmpool.tasks.task import TASKS

pytest.importorskip("rdkit")
pytest.importorskip("rdchiral")
Cli = Callable[..., Said]
SEVERAL = "CCOc1ccc(CC(=O)OC)cc1NC(C)=O"
ETHER = "CCBr.COC(=O)Cc1ccc(O)c(NC(C)=O)c1"
PREDICT = ("retro", "predict", "m")
CPU = ("--device", "cpu")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return small_set(tmp_path_factory.mktemp("small"), copies=3)


def save_gln(prepared: Prepared, folder: str, *, given: bool = False) -> None:
    """One that was never trained."""
    torch.manual_seed(0)
    shape = shape_of(Reactions.of(prepared, given=given))
    save_model(TASKS["retrosynthesis"], GLN(shape, config_of()), Path(folder), {"key": "k"})


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Prepared) -> None:
    monkeypatch.chdir(tmp_path)
    save_gln(small, "m")


def rows_in(text: str) -> list[dict[str, str]]:
    found = csv.DictReader(io.StringIO(text))
    assert found.fieldnames == list(COLUMNS)
    return list(found)


# -- prepare --------------------------------------------------------------------------------------


def test_prepare_train_predict(gmpool_cli: Cli) -> None:
    write_csv("mine.csv", copies=3)
    said = gmpool_cli("retro", "prepare", "mine.csv", "--workers", 1)
    assert (said.code, said.out) == (0, "")
    assert said.err.splitlines()[0] == "57 reactions, 19 products, 6 classes"
    assert said.err.endswith("mine.retro is all that is needed; mine.shards may be deleted\n")
    options = ["epochs=1", "epoch_steps=2", "batch_size=4", "message_dim=4", "embed_dim=4"]
    words = [word for option in options for word in ("-o", option)]
    said = gmpool_cli("retro", "train", "mine.retro", *words, *CPU, "--save-model", "own")
    assert said.code == 0, said.err
    said = gmpool_cli("retro", "predict", "own", SEVERAL, *CPU)
    assert said.code == 0, said.err
    assert ETHER in said.out


def test_a_named_set_is_put_where_training_finds_it(
    gmpool_cli: Cli, own_cache: Path, tmp_path: Path
) -> None:
    import lzma

    data = tmp_path / "data"
    data.mkdir()
    text = write_csv("mine.csv", copies=3).read_bytes()
    (data / "uspto50k.csv.xz").write_bytes(lzma.compress(text))
    said = gmpool_cli("retro", "prepare", "USPTO-50k", "--data", data, "--workers", 1)
    assert said.code == 0, said.err
    assert Prepared.load(own_cache / "uspto50k.retro").name == "USPTO-50k"


def test_prepare_with_columns_and_without_smiles(gmpool_cli: Cli) -> None:
    path = write_csv("mine.csv", copies=3)
    path.write_text(path.read_text().replace("reaction,class,split", "what,kind,when", 1))
    words = ["--reaction-column", "what", "--class-column", "kind", "--split-column", "when"]
    words += ["--template-column", "none", "--without-smiles", "--seconds", 30, "--out", "b.retro"]
    said = gmpool_cli("retro", "prepare", "mine.csv", "--workers", "1", *words)
    assert said.code == 0, said.err
    assert not len(Prepared.load(Path("b.retro")).arrays["smiles"])


def break_rows() -> None:
    path = write_csv("broken.csv", copies=3)
    lines = path.read_text().splitlines()
    lines[2] = "CC(C>>CC,1,train"
    lines[4] = "CC(=O)O.CN>>CC(=O)NC,2,train"
    path.write_text("\n".join(lines))


def test_broken_rows_are_named_or_left_out(gmpool_cli: Cli) -> None:
    break_rows()
    said = gmpool_cli("retro", "prepare", "broken.csv", "--workers", 1)
    assert (said.code, said.err) == (
        2,
        "error: broken.csv:3: RDKit cannot read 'CC(C'\n"
        "broken.csv:5: no template can be taken from it: are its atoms numbered?\n"
        "correct these rows, or leave them out with --skip-bad-rows\n",
    )
    said = gmpool_cli("retro", "prepare", "broken.csv", "--workers", 1, "--skip-bad-rows")
    assert said.code == 0
    assert "left out: broken.csv:3: RDKit cannot read 'CC(C'\n" in said.err


WRONG: dict[str, tuple[list[object], str]] = {
    "another ending": (["--out", "a.csv"], "--out ends in .retro; got a.csv"),
    "a folder": (
        ["--out", "folder.retro"],
        "--out folder.retro: there is a folder of that name; give a file in it",
    ),
    "no workers": (
        ["--workers", 0], "--workers takes auto or a number from 1 to 9,999, got '0'"
    ),
    "no time": (["--seconds", 0], "a product may take more than 0 seconds, got 0"),
    "no such class column": (
        ["--class-column", "kind"],
        "mine.csv: unknown column 'kind' (known: class, reaction, split)",
    ),
    "no such reactions": (
        ["--reaction-column", "r"], "mine.csv: unknown column 'r' (known: class, reaction, split)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", WRONG)
def test_mistakes_of_prepare(which: str, gmpool_cli: Cli) -> None:
    write_csv("mine.csv")
    Path("folder.retro").mkdir()
    words, message = WRONG[which]
    said = gmpool_cli("retro", "prepare", "mine.csv", *words)
    assert (said.code, said.out, said.err) == (2, "", f"error: {message}\n")
    assert not Path("mine.retro").exists()


def test_prepare_of_other_things(gmpool_cli: Cli) -> None:
    said = gmpool_cli("retro", "prepare", "nowhere.csv")
    assert said.code == 2
    assert said.err.startswith(
        "error: nowhere.csv: no such file; names of sets of reactions: USPTO"
    )
    write_csv("mine.csv", copies=3)
    assert gmpool_cli("retro", "prepare", "mine.csv", "--workers", 1).code == 0
    write_csv("mine.csv", copies=4)
    said = gmpool_cli("retro", "prepare", "mine.csv", "--workers", 1)
    assert said.code == 2
    assert said.err.startswith("error: mine.shards: holds candidates of other templates")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_and_on(gmpool_cli: Cli) -> None:
    """A process of its own, stopped while its workers look for candidates."""
    write_csv("mine.csv", copies=3)
    words = ["retro", "prepare", "mine.csv", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gmpool", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not list(Path().glob("mine.shards/*.xz")):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode == 130:  # else it was done before
        assert err.startswith("\nstopped while finding candidates, "), err
        assert err.endswith("are in mine.shards: the same command goes on from there\n")
        assert "Traceback" not in err
        assert not Path("mine.retro").exists()
    said = gmpool_cli("retro", "prepare", "mine.csv", "--workers", 1)
    assert said.code == 0, said.err
    assert Prepared.load(Path("mine.retro")).about["too_slow"] == []


# -- predict --------------------------------------------------------------------------------------


def test_one_product(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*PREDICT, SEVERAL, *CPU)
    assert (said.code, said.err) == (0, "")
    for word in ("rank", "probability", "score", "reactants", "template", ETHER, " %"):
        assert word in said.out
    first = gmpool_cli(*PREDICT, SEVERAL, *CPU, "--top", 1)
    assert first.out.count("│ 1 ") == 1
    assert "│ 2 " not in first.out


def test_one_product_to_files(gmpool_cli: Cli) -> None:
    for name in ("a.csv", "a.json", "a.tsv.gz", "a.parquet"):
        said = gmpool_cli(*PREDICT, SEVERAL, *CPU, "--out", name)
        assert (said.code, said.out, said.err) == (0, "", f"written: {name}\n")
    rows = rows_in(Path("a.csv").read_text())
    (answer,) = json.loads(Path("a.json").read_text())
    assert (answer["product"], answer["line"], answer["problem"]) == (SEVERAL, None, None)
    assert [row["reactants"].split(".") for row in rows] == [
        each["reactants"] for each in answer["predictions"]
    ]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert sum(each["probability"] for each in answer["predictions"]) == pytest.approx(1)
    table = pandas.read_parquet("a.parquet")
    assert list(table.columns) == list(COLUMNS)
    assert table["reactants"].tolist() == [row["reactants"] for row in rows]


def write_products() -> None:
    Path("products.csv").write_text(
        f"name,structure\nseveral,{SEVERAL}\nbroken,CC(C\nnone,C\nsalt,CC(=O)NCC.Cl\n"
        f"amide,CC(=O)NCC\n"
    )


def test_a_table(gmpool_cli: Cli) -> None:
    write_products()
    said = gmpool_cli(*PREDICT, "products.csv", *CPU, "--top", 2)
    assert said.code == 0, said.err
    rows = rows_in(said.out)
    assert [(row["line"], row["rank"], row["problem"]) for row in rows] == [
        ("2", "1", ""),
        ("2", "2", ""),
        ("3", "", "RDKit cannot read 'CC(C'"),
        ("4", "", NOTHING),
        ("5", "", "'CC(=O)NCC.Cl' has 2 molecules: give the product alone"),
        ("6", "1", ""),
        ("6", "2", ""),
    ]
    assert [row["product"] for row in rows][::2] == [SEVERAL, "CC(C", "CC(=O)NCC.Cl", "CCNC(C)=O"]
    assert said.err == (
        "without a prediction: line 3: RDKit cannot read 'CC(C'\n"
        f"without a prediction: line 4: {NOTHING}\n"
        "without a prediction: line 5: 'CC(=O)NCC.Cl' has 2 molecules: give the product alone\n"
        "2 of 5 products have predictions\n"
    )
    written = gmpool_cli(
        *PREDICT, "products.csv", *CPU, "--top", 2, "--out", "b.csv", "--workers", 2
    )
    assert written.code == 0, written.err
    assert written.err == "written: b.csv\n" + said.err
    assert Path("b.csv").read_text() == said.out
    assert gmpool_cli(*PREDICT, "products.csv", *CPU, "--out", "b.json").code == 0
    assert [each["line"] for each in json.loads(Path("b.json").read_text())] == [2, 3, 4, 5, 6]


def test_many_problems_are_counted(gmpool_cli: Cli) -> None:
    Path("bad.smi").write_text("".join(f"C.{'C' * n}\n" for n in range(1, 10)))
    said = gmpool_cli(*PREDICT, "bad.smi", *CPU)
    assert said.code == 0
    assert said.err.endswith("… and 4 more\n0 of 9 products have predictions\n")


def test_duplicates(gmpool_cli: Cli) -> None:
    Path("one.smi").write_text("CCNC(=O)CC(=O)NCC\n")
    once = rows_in(gmpool_cli(*PREDICT, "one.smi", *CPU).out)
    often = rows_in(gmpool_cli(*PREDICT, "one.smi", *CPU, "--all-duplicates").out)
    assert [row["reactants"] for row in once] == list(
        dict.fromkeys(row["reactants"] for row in often)
    )


def test_a_page_with_drawings(gmpool_cli: Cli) -> None:
    write_products()
    said = gmpool_cli(*PREDICT, SEVERAL, *CPU, "--pictures", "one.html")
    assert (said.code, said.err) == (0, "written: one.html\n")
    page = Path("one.html").read_text()
    assert page.count("<img") == 7, "the product, and three ways of two molecules each"
    assert "COC(=O)Cc1ccc(O)c(NC(C)=O)c1" in page
    words = ["--pictures", "many.html", "--out", "b.csv"]
    assert gmpool_cli(*PREDICT, "products.csv", *CPU, *words).code == 0
    page = Path("many.html").read_text()
    assert "cannot be drawn" in page
    assert NOTHING in page
    assert "line 6" in page


def test_a_name_is_no_part_of_the_page(gmpool_cli: Cli) -> None:
    Path("bad.csv").write_text("smiles\n<script>alert(1)</script>\n")
    said = gmpool_cli(*PREDICT, "bad.csv", *CPU, "--pictures", "a.html", "--out", "a.csv")
    assert said.code == 0
    assert "<script" not in Path("a.html").read_text()


MISTAKES: dict[str, tuple[list[object], str]] = {
    "unreadable": (["CC(C"], "CC(C: RDKit cannot read 'CC(C'"),
    "no template": (["C"], f"C: {NOTHING}"),
    "two molecules": (["CC.CC"], "CC.CC: 'CC.CC' has 2 molecules: give the product alone"),
    "no such table": (["products.tsv"], "products.tsv: no such file"),
    "no column": (
        ["other.csv"],
        "other.csv: no column is called 'smiles'; name the one that holds SMILES with "
        "--smiles-column (columns: 'a', 'b')",
    ),
    "no such column": (
        ["other.csv", "--smiles-column", "c"], "other.csv: unknown column 'c' (known: a, b)"
    ),
    "a column of no table": (
        ["CCO", "--smiles-column", "c"], "'CCO' is no table, and so has no column 'c'"
    ),
    "header alone": (["header.csv"], "header.csv: there is a header but no row below it"),
    "empty": (["empty.csv"], "empty.csv: the file is empty; expected a header row"),
    "a class": (
        [SEVERAL, "--class", "2"],
        "the model was trained without classes and takes none, got class '2'",
    ),
    "top": ([SEVERAL, "--top", 0], "--top takes a number from 1 on, got 0"),
    "ending": (
        [SEVERAL, "--out", "a.txt"],
        "--out ends in .csv, .csv.gz, .csv.xz, .tsv, .tsv.gz, .tsv.xz, .parquet, .json; got a.txt",
    ),
    "over the input": (
        ["other.csv", "--smiles-column", "a", "--out", "other.csv"],
        "--out other.csv is the input other.csv itself; give another name",
    ),
    "pictures": ([SEVERAL, "--pictures", "a.png"], "--pictures ends in .html; got a.png"),
    "workers": (
        [SEVERAL, "--workers", "many"],
        "--workers takes auto or a number from 1 to 9,999, got 'many'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", MISTAKES)
def test_mistakes_of_predict(which: str, gmpool_cli: Cli) -> None:
    Path("other.csv").write_text("a,b\nCCO,1\n")
    Path("header.csv").write_text("smiles\n")
    Path("empty.csv").write_text("")
    words, message = MISTAKES[which]
    said = gmpool_cli(*PREDICT, *words, *CPU)
    assert (said.code, said.out, said.err) == (2, "", f"error: {message}\n")


def test_models_with_classes(gmpool_cli: Cli, small: Prepared) -> None:
    save_gln(small, "given", given=True)
    known = "(known: 1, 2, 3, 5, 6, 7)"
    said = gmpool_cli("retro", "predict", "given", SEVERAL, *CPU)
    assert (said.code, said.err) == (
        2,
        f"error: the model was trained with classes: say which one the reaction has {known}\n",
    )
    said = gmpool_cli("retro", "predict", "given", SEVERAL, *CPU, "--class", "11")
    assert said.code == 2
    assert said.err.startswith("error: unknown class '11'")
    assert said.err.endswith(f"{known}\n")
    said = gmpool_cli("retro", "predict", "given", SEVERAL, *CPU, "--class", "1")
    assert said.code == 0
    assert ETHER in said.out
    assert "│ 2 " not in said.out
    said = gmpool_cli("retro", "predict", "given", SEVERAL, *CPU, "--class", "7")
    assert (said.code, said.err) == (2, f"error: {SEVERAL}: {NOTHING}\n")


def test_models_of_other_tasks(gmpool_cli: Cli) -> None:
    said = gmpool_cli("retro", "predict", "nowhere", SEVERAL)
    assert said.code == 2
    assert said.err.startswith("error: nowhere is not a saved model")
    config = MolGANConfig("mean", conv_dim=4, pool_dim=4, generator_dim=4)
    gan = MolGAN(GanShape(few_molecules().alphabet), config)
    save_model(TASKS["generate"], gan, Path("gan"), {"key": "k"})
    said = gmpool_cli("retro", "predict", "gan", SEVERAL)
    assert (said.code, said.err) == (
        2,
        "error: gan is a model of generate; give one that gmpool retro train --save-model wrote\n",
    )
    write_products()
    said = gmpool_cli("predict", "m", "products.csv")
    assert (said.code, said.err) == (
        2,
        "error: a product can be made in many ways, which are rows of their own; use: "
        "gmpool retro predict MODEL PRODUCTS\n",
    )


def test_models_that_somebody_has_changed(gmpool_cli: Cli) -> None:
    rewrite(Path("m"), lambda values: values["shape"]["library"].update(centers=["[C"] * 15))
    said = gmpool_cli(*PREDICT, SEVERAL, *CPU)
    assert (said.code, said.err) == (2, "error: RDKit cannot read the model's pattern '[C'\n")
    rewrite(Path("m"), lambda values: values["shape"]["library"].update(centers=[]))
    said = gmpool_cli(*PREDICT, SEVERAL, *CPU)
    assert (said.code, said.err) == (2, "error: the list of templates does not fit together\n")


def test_classes_that_are_not_there_cannot_be_given(gmpool_cli: Cli) -> None:
    write_csv("mine.csv", copies=3)
    assert (
        gmpool_cli("retro", "prepare", "mine.csv", "--workers", 1, "--class-column", "none").code
        == 0
    )
    said = gmpool_cli("retro", "train", "mine.retro", "--class-given")
    assert said.code == 2
    assert said.err == "error: mine.retro: its reactions have no classes; leave --class-given out\n"


def test_another_preparation_of_a_named_set_is_told_apart(
    gmpool_cli: Cli, own_cache: Path, tmp_path: Path
) -> None:
    small_set(tmp_path).save(own_cache / "uspto50k.retro")
    said = gmpool_cli("retro", "train", "USPTO-50k")
    assert said.code == 2
    assert "with which no recorded run can be compared" in said.err
