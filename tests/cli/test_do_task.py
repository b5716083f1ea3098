"""The commands that tasks have, as a user meets them: `gmpool train`, `gmpool reconstruct`, …"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import typer
from html_outline import Outline
from own_set import write_set
from said import Said
from small_sets import FLAGS, TEN_MOLECULES
from toy_task import TOY
from typer.testing import CliRunner

from gmpool.cli.do_task import command_of
from gmpool.engine.checkpoint import load_model
from gmpool.engine.store import RunStore
from gmpool.tasks.task import TASKS

Cli = Callable[..., Said]
TRAIN = ("train", "MUTAG", "--method", "gmt", "--device", "cpu", *FLAGS)
SHORT = ("-o", "epochs=3", "-o", "hidden_dim=8", "--device", "cpu")


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default store is the folder runs/ where the command is given."""
    monkeypatch.chdir(tmp_path)


def test_train_ends_with_json_and_the_second_time_reuses(gmpool_cli: Cli) -> None:
    words = (*TRAIN, "--folds", 2, "--seeds", 1, "--json")
    said = gmpool_cli(*words)
    assert said.code == 0, said.err
    (result,) = json.loads(said.out)
    assert (result["dataset"], result["method"], result["runs"]) == ("MUTAG", "gmt", 2)
    rows = list(RunStore("runs"))
    assert [(row.seed, row.fold) for row in rows] == [(42, 1), (42, 2)]
    tests = torch.tensor([row.test for row in rows], dtype=torch.float64)
    assert result["test_mean"] == pytest.approx(tests.mean().item())
    assert result["test_std"] == pytest.approx(tests.std().item())
    assert result["seconds"] == pytest.approx(sum(row.seconds for row in rows))
    assert result["paper"]["mean"] == 83.44
    assert said.err.count("epochs, ") == 2

    again = gmpool_cli(*words)
    assert json.loads(again.out) == [result]
    assert again.err.count("recorded before") == 2
    assert len(list(RunStore("runs"))) == 2


def test_methods_side_by_side_in_a_table_and_a_file(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*TRAIN, "-m", "mean", "--folds", 2, "--out", "out/report.html")
    assert said.code == 0, said.err
    for word in ("MUTAG", "gmt", "mean", "83.44 ± 1.33", "69.50 ± 1.78", "accuracy %"):
        assert word in said.out
    assert "written: out/report.html" in said.err
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "83.44 ± 1.33" in page
    assert "gmt, mean on MUTAG" in page
    assert "gmpool train MUTAG" in page
    assert not re.search(r'(src|href)="(?!data:)', page), "it needs no other file"
    (image,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(image).startswith(b"\x89PNG")

    words = (*TRAIN, "-m", "mean", "--folds", 2, "--out", "out/report.md", "--plots", "out")
    markdown = gmpool_cli(*words)
    assert markdown.err.count("recorded before") == 4
    assert "| 83.44 ± 1.33 |" in Path("out/report.md").read_text(encoding="utf-8")
    assert Path("out/intervals.png").read_bytes().startswith(b"\x89PNG")
    assert "There is no critical-difference diagram" in markdown.err


def test_a_kernel_and_a_network_are_lines_of_one_table(gmpool_cli: Cli) -> None:
    said = gmpool_cli("train", "MUTAG", "-m", "wl-svm", "--folds", 2, "--device", "cpu")
    assert said.code == 0, said.err
    assert gmpool_cli(*TRAIN, "--folds", 2).code == 0
    shown = json.loads(gmpool_cli("table", "--json").out)
    assert {one["method"] for one in shown} == {"gmt", "wl-svm"}


def test_the_best_model_is_kept_and_so_is_every_one(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*TRAIN, "--folds", 3, "--save-model", "best", "--keep-models")
    assert said.code == 0, said.err
    assert "model: best" in said.err
    rows = list(RunStore("runs"))
    assert sorted(path.name for path in Path("runs/models").iterdir()) == sorted(
        row.key for row in rows
    )
    kept = load_model("best")
    best = max(rows, key=lambda row: row.more["selection_score"])
    assert kept.description["about"]["key"] == best.key
    theirs = load_model(Path("runs/models") / best.key).model.state_dict()
    (member,) = kept.model.members  # which was calibrated for use
    assert all(torch.equal(weights, theirs[name]) for name, weights in member.state_dict().items())
    again = gmpool_cli(*TRAIN, "--folds", 3, "--keep-models")
    assert again.err.count("recorded before") == 3, "all of them are there"


def test_a_ring_is_rebuilt_and_drawn(gmpool_cli: Cli) -> None:
    words = ("reconstruct", "ring", "-p", "n=12", "-m", "gmt", "-m", "topk", *SHORT)
    said = gmpool_cli(*words, "--store", "kept", "--plots", "kept")
    assert said.code == 0, said.err
    assert "ring(n=12): errors" in said.out
    assert "TopKPool" in said.out
    assert [row.method for row in RunStore("kept")] == ["gmt", "topk"]
    assert Path("kept/clouds.png").read_bytes().startswith(b"\x89PNG")
    again = gmpool_cli(*words, "--store", "kept", "--json")
    assert again.err.count("recorded before") == 2
    found = json.loads(again.out)
    assert {one["metric"] for one in found} == {"error_x", "error_a"}


def test_pictures_are_drawn_of_what_was_recorded_without_models(gmpool_cli: Cli) -> None:
    words = ("reconstruct", "ring", "-p", "n=12", *SHORT)
    assert gmpool_cli(*words).code == 0
    said = gmpool_cli(*words, "--plots", "pictures", "--save-model", "best")
    assert said.code == 0, said.err
    assert Path("pictures/clouds.png").is_file()
    assert load_model("best").description["task"] == "reconstruct"
    assert len(list(RunStore("runs"))) == 1, "done again for the weights, recorded once"


def test_a_users_own_molecules(gmpool_cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("id,structure\n" + "".join(f"{i},{s}\n" for i, s in enumerate(TEN_MOLECULES)))
    said = gmpool_cli(
        "reconstruct", table, "--ratio", 0.2, "--ratio", 0.5, "--smiles-column", "structure",
        "--store", "own", "--plots", "own", "--seeds", 2, "--replicas", "auto", *SHORT,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "validity (%)" in said.out
    for name in ("curves-own.png", "molecules-own.png"):
        assert Path("own", name).is_file()
    shown = gmpool_cli("table", "own", "--format", "markdown")
    assert "own: accuracy of atom types (%)" in shown.out


def test_the_report_on_own_data_says_how_it_was_read_and_shows_its_predictions(
    gmpool_cli: Cli,
) -> None:
    rows = "".join(f"{'C' * n},{n / 2}\n" for n in range(1, 21))
    Path("mine.csv").write_text(f"smiles,<b>boiling</b>\n{rows}")
    words = ("train", "mine.csv", "-m", "mean", "--device", "cpu", *FLAGS)
    said = gmpool_cli(*words, "--out", "report.html", "--plots", "drawn")
    assert said.code == 0, said.err
    page = Path("report.html").read_text()
    outline = Outline(page)
    for shown in ("Predictions and labels", "What intervals hold", "Worst mistakes"):
        assert f"{shown}: mean on mine" in outline.text
    assert "molecules: column 'smiles'" in outline.text
    assert "labels: '<b>boiling</b>' (regression: 0.5 to 10)" in outline.text
    (split,) = (text for text in outline.text if text.startswith("split: 16 train, 2 valid, 2"))
    assert "because no column says train, valid or test" in split
    assert Path("drawn/parity-1-mine-mean.png").is_file()
    store = Path("runs/rows.jsonl")
    row = json.loads(store.read_text())
    row["outputs"]["made"] = "changed"
    store.write_text(json.dumps(row) + "\n")
    said = gmpool_cli("table", "--out", "report.html")
    assert said.code != 0
    assert "the test outputs in the row of mean on mine, seed 42 fold 1, cannot be" in said.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("rign",), "unknown graph 'rign'"),
        (("ring", "-m", "mean"), "unknown method 'mean' (known: diffpool, gmt, mincut, random"),
        (("ring", "-m", "topk", "--objective", "a"), "topk has nothing to learn of objective a"),
        (("ring", "--objective", "b"), "unknown objective 'b'"),
        (("ring", "--ratio", "0"), "ratio must lie in (0, 1], got 0.0"),
        (("ring", "-o", "ratio=0.5"), "give ratio as --ratio 0.5"),
        (("ring", "-p", "n"), "--parameter takes KEY=VALUE, got 'n'"),
        (("ring", "-p", "m=3"), "unknown parameter of ring 'm'"),
        (("MUTAG", "-p", "n=3"), "--parameter is for a graph that is made on the spot"),
        (("ring", "--seeds", "0"), "seeds must be at least 1, got 0"),
        (("ring", "--folds", "2"), "ring has one split, not folds: leave folds out, got 2"),
        (("ring", "--smiles-column", "s"), "--smiles-column is for a CSV, and 'ring' is not one"),
        (("ring", "--skip-bad-rows"), "--skip-bad-rows is for a CSV"),
    ],
)
def test_a_mistake_is_one_line(gmpool_cli: Cli, words: tuple[str, ...], text: str) -> None:
    said = gmpool_cli("reconstruct", *words, "--device", "cpu")
    assert (said.code, said.out) == (2, "")
    *others, mistake = said.err.splitlines()
    assert mistake.startswith("error: ")
    assert text in mistake
    assert all(line.startswith(("ring: 1 graph", "split: ")) for line in others)
    assert not Path("runs").exists()


def test_what_was_understood_is_said_before_anything_is_trained(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*TRAIN, "--folds", 1)
    counted, labels, folds = said.err.splitlines()[:3]
    assert counted == "MUTAG: 188 graphs of 10 to 28 nodes"
    assert labels == "labels: 'label' (multiclass, 2 classes: 63 '-1', 125 '1')"
    assert folds == "folds: 10 (published); the first: 152 train, 18 valid, 18 test"


OWN = "no;SMILES;MW;active;set\n" + "".join(
    f"{i};{smiles};{50 + i / 7:.2f};{'bad' if i == 3 else i % 2};{'test' if i > 7 else 'train'}\n"
    for i, smiles in enumerate(TEN_MOLECULES)
).replace(".", ",")


@pytest.mark.parametrize("verb", ["train", "reconstruct"])
def test_both_commands_take_the_same_words_for_a_table(gmpool_cli: Cli, verb: str) -> None:
    Path("own.csv").write_text(OWN)
    words = (verb, "own.csv", "--label", "active", "--task", "binary", *SHORT, "--skip-bad-labels")
    said = gmpool_cli(*words, "--split-column", "set", "--smiles-column", "SMILES")
    assert said.code == 0, said.err
    told = said.err.splitlines()
    assert told[:2] == [
        "own.csv: separated by ';', decimal comma, 10 rows",
        "molecules: column 'SMILES'",
    ]
    assert "label left out: own.csv:5: label 'bad' in column 'active' is not a number" in told
    assert "not used: 'no', 'MW'" in told
    assert "labels: 'active' (binary: 4 yes, 5 no, 1 gap)" in told
    assert any(line.startswith("split: 7 train, 1 valid, 2 test (column 'set'") for line in told)
    assert ("the labels are not learned" in said.err) == (verb == "reconstruct")


def test_folds_of_own_molecules_are_made_and_recorded(gmpool_cli: Cli) -> None:
    smiles = ["C" * (i + 1) + ("c1ccccc1", "C1CC1", "", "C1CCC1")[i % 4] for i in range(20)]
    Path("own.csv").write_text(
        "smiles,active\n"
        + "".join(f"{s},{i % 3 % 2}\n" for i, s in enumerate([*smiles, smiles[0]]))
    )
    words = ("train", "own.csv", "-m", "mean", "--device", "cpu", *FLAGS)
    said = gmpool_cli(*words, "--split", "scaffold", "--folds", 3, "--repeats", 2, "--json")
    assert said.code == 0, said.err
    assert (
        "folds: 6 (scaffold, 3 folds × 2 repeats, seed 0; 4 scaffolds, the largest of 6 molecules; "
        "1 molecule is in several rows, all in one part; " in said.err
    )
    (line,) = json.loads(said.out)
    assert (line["runs"], line["folds"]) == (6, 6)
    rows = list(RunStore("runs"))
    assert [row.fold for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.more["split"] for row in rows] == 6 * [
        {
            "kind": "scaffold", "folds": 3, "repeats": 2, "seed": 0, "groups": "scaffold",
            "repeated_molecules": 1, "scaffolds": 4,
        }
    ]  # fmt: skip
    assert len({row.split_digest for row in rows[:3]}) == 3
    first = gmpool_cli(*words, "--split", "scaffold", "--folds", 3)
    assert first.err.count("recorded before") == 3, "the first repeat is that without repeats"
    plain = gmpool_cli(*words, "--folds", 4)
    assert plain.code == 0, plain.err
    assert "folds: 4 (random, seed 0; 1 molecule is" in plain.err
    assert len(list(RunStore("runs"))) == 10
    one = gmpool_cli("reconstruct", "own.csv", "--split", "random", "--split-seed", 1, *SHORT)
    assert one.code == 0, one.err
    assert "random 80/10/10, seed 1" in one.err


def test_folds_of_own_graphs_are_the_first_or_made(gmpool_cli: Cli) -> None:
    write_set(Path("own"))
    words = ("train", "own", "-m", "mean", "--device", "cpu", *FLAGS)
    said = gmpool_cli(*words, "--folds", 2)
    assert "folds: 2 (stratified, always the same, the first 2 of 10)" in said.err
    said = gmpool_cli(*words, "--split", "stratified", "--folds", 3, "--split-seed", 5)
    assert said.code == 0, said.err
    assert "folds: 3 (stratified, seed 5); the first: 8 train, 8 valid, 8 test" in said.err
    kinds = [row.more["split"] for row in RunStore("runs")]
    assert [kind["folds"] for kind in kinds] == [10, 10, 3, 3, 3]
    assert kinds[-1] == {"kind": "stratified", "folds": 3, "repeats": 1, "seed": 5}
    assert (
        gmpool_cli("train", "MUTAG", "-m", "mean", "--folds", 1, "--store", "named", *FLAGS).code
        == 0
    )
    (named,) = RunStore("named")
    assert "split" not in named.more


def test_a_guess_that_would_be_wrong_stops_and_names_the_way_out(gmpool_cli: Cli) -> None:
    Path("own.csv").write_text(OWN.replace("bad", "1"))
    said = gmpool_cli("train", "own.csv", *SHORT)
    assert (said.code, said.out) == (2, "")
    assert "'MW' (regression), 'active' (binary); name those to be learned with --label" in said.err


@pytest.mark.parametrize("name", ["classify", "reconstruct"])
def test_what_a_task_declares_is_in_its_help(name: str, gmpool_cli: Cli) -> None:
    task = TASKS[name]
    said = gmpool_cli(str(task.verb), "--help")
    assert said.code == 0
    text = " ".join(said.out.replace("│", " ").split())
    assert task.help in text
    for flag in task.flags:
        assert f"--{flag.name.replace('_', '-')}" in text
        assert flag.help.removesuffix(".").split(", ")[0] in text


def test_a_command_is_made_of_a_task_from_outside() -> None:
    app = typer.Typer()
    app.command()(command_of(TOY))
    runner = CliRunner()
    made = runner.invoke(
        app, ["circle", "--points", "30", "-m", "wide", "-m", "narrow", "--folds", "1"]
    )
    assert made.exit_code == 0, made.output
    assert "how far the middles are apart" in made.output
    rows = list(RunStore("runs"))
    assert [(row.task, row.method, row.dataset) for row in rows] == [
        ("toy", "wide", "circle"), ("toy", "narrow", "circle"),
    ]  # fmt: skip
    assert {row.data_digest for row in rows} == {"points-circle-30"}, "its own option was heard"
    assert all("norm" in row.more for row in rows)
