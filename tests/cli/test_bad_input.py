"""What a user sees after a mistake: one clear message, an exit code, and no traceback.

Each case of the table makes its files in an empty folder, gives a command, and says which words
must be in the message: the value that is wrong, the place where it stands, and the way out.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from saved_models import rewrite
from small_sets import FLAGS, TEN_MOLECULES, classes, rings_and_paths

from gmpool.data import PackedGraphs, from_pyg, from_smiles
from gmpool.engine import checkpoint
from gmpool.engine.checkpoint import save_model
from gmpool.engine.executors import executor
from gmpool.errors import DataError
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS

Cli = Callable[..., Any]
TABLE = "smiles,toxic\n" + "".join(f"{s},{i % 2}\n" for i, s in enumerate(TEN_MOLECULES))
WITH_SET = "smiles,toxic,set\n" + "".join(
    f"{s},{i % 2},{'train' if i < 6 else 'valid' if i < 8 else 'test'}\n"
    for i, s in enumerate(TEN_MOLECULES)
)
TU = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n2\n2\n3\n3\n",
    "graph_labels": "1\n2\n1\n",
    "node_attributes": "0.5, 1\n1, 2\n3, 4\n1, 1\n2, 2\n3, 3\n",
}


def write(path: str, text: str) -> Callable[[], None]:
    return lambda: Path(path).write_text(text) and None


def tu_folder(**changes: str) -> Callable[[], None]:
    def make() -> None:
        Path("set").mkdir()
        for name, text in {**TU, **changes}.items():
            Path(f"set/S_{name}.txt").write_text(text)

    return make


def write_tu_without_labels() -> None:
    Path("own").mkdir()
    for name in ("A", "graph_indicator"):
        Path(f"own/S_{name}.txt").write_text(TU[name])


def saved(graphs: PackedGraphs, hidden_dim: int = 8) -> None:
    config = ModelConfig(hidden_dim=hidden_dim, num_layers=1)
    model = GraphModel(DataShape.of(graphs), config)
    save_model(TASKS["classify"], model, Path("model"), about={})


def molecules() -> PackedGraphs:
    return from_smiles(TEN_MOLECULES, torch.tensor([[0.0], [1.0]] * 5), task="binary")


def model_and_table(damage: Callable[[], object] = lambda: None) -> Callable[[], None]:
    def make() -> None:
        saved(molecules())
        Path("t.csv").write_text(TABLE)
        damage()

    return make


def cut_off() -> None:
    path = Path("model/model.safetensors")
    path.write_bytes(path.read_bytes()[:-100])


def weights_of_another_model() -> None:
    saved(molecules(), hidden_dim=16)
    rewrite(Path("model"), lambda values: values["model"].update(hidden_dim=8))


@dataclass
class Case:
    words: str
    says: tuple[str, ...]
    given: Callable[[], object] = lambda: None


PREDICT = "predict model t.csv"
CASES = {
    "empty file": Case(
        "train t.csv", ("t.csv: the file is empty", "expected a header row"), write("t.csv", "")
    ),
    "header only": Case(
        "train t.csv", ("t.csv: there is a header but no row below it",), write("t.csv", "smiles\n")
    ),
    "wrong SMILES column": Case(
        "train t.csv --smiles-column smile",
        ("t.csv", "unknown column 'smile'", "did you mean 'smiles'?", "(known: smiles, toxic)"),
        write("t.csv", TABLE),
    ),
    "wrong label column": Case(
        "train t.csv --label toxicity",
        ("t.csv", "unknown column 'toxicity'", "did you mean 'toxic'?"),
        write("t.csv", TABLE),
    ),
    "no SMILES column": Case(
        "train t.csv", ("t.csv", "no column is called 'smiles'", "(columns: 'a', 'b')"),
        write("t.csv", "a,b\nCC,1\n"),
    ),
    "unreadable SMILES": Case(
        "train t.csv",
        ("t.csv:12:", "'C1CC'", "1 of 11 rows", "leave them out with --skip-bad-rows"),
        write("t.csv", TABLE + "C1CC,0\n"),
    ),
    "label that is no number": Case(
        "train t.csv",
        ("t.csv:12:", "label 'maybe' in column 'toxic' is not a number", "--skip-bad-rows"),
        write("t.csv", TABLE + "CCCC,maybe\n"),
    ),
    "label out of range": Case(
        "train t.csv --task binary",
        ("t.csv:12:", "label '3' in column 'toxic' is not 0, 1 or empty", "--skip-bad-rows"),
        write("t.csv", TABLE + "CCCC,3\n"),
    ),
    "too few rows": Case(
        "train t.csv", ("t has no folds to train on", "at least 3 graphs", "got 2 graph(s)"),
        write("t.csv", "smiles,toxic\nCC,0\nCO,1\n"),
    ),
    "NaN feature": Case(
        "train set",
        ("set/S_node_attributes.txt:2", "nan"),
        tu_folder(node_attributes=TU["node_attributes"].replace("1, 2\n", "1, nan\n")),
    ),
    "edge to a missing node": Case(
        "train set", ("set/S_A.txt:7", "edge 6, 9 names a missing node", "(nodes are 1..6)"),
        tu_folder(A=TU["A"] + "6, 9\n"),
    ),
    "unknown dataset": Case(
        "train MUTAGG", ("unknown dataset 'MUTAGG'", "did you mean 'MUTAG'?", "PROTEINS")
    ),
    "missing file": Case("train nowhere/t.csv", ("nowhere/t.csv: no such file",)),
    "option for a CSV only": Case(
        "train MUTAG --label toxic", ("--label is for a CSV, and 'MUTAG' is not one",)
    ),
    "unknown option": Case(
        "train MUTAG -o hiden_dim=8", ("unknown option 'hiden_dim'", "did you mean 'hidden_dim'?")
    ),
    "option of the wrong type": Case(
        "train MUTAG -o epochs=many", ("option epochs takes a whole number, got 'many'",)
    ),
    "option without a value": Case("train MUTAG -o lr", ("--option takes KEY=VALUE, got 'lr'",)),
    "option that does not fit": Case(
        "train MUTAG -o num_heads=3", ("width 128", "num_heads=3")
    ),
    "unknown flag": Case("train MUTAG --fold 3", ("--fold", "--folds")),
    "unknown method": Case(
        "train MUTAG --method gtm", ("unknown method 'gtm'", "did you mean 'gmt'?", "mean")
    ),
    "unknown device": Case(
        "train MUTAG --device gpu", ("--device takes cpu, cuda or auto, got 'gpu'",)
    ),
    "device that is not here": Case(
        "train MUTAG --device cuda:9", ("--device cuda:9", "use --device cpu")
    ),
    "folds out of range": Case(
        "train MUTAG --folds 11", ("MUTAG has 10 folds, so folds must be from 1 to 10, got 11",)
    ),
    "folds of a table with one split": Case(
        "train t.csv --folds 5 --split-column set",
        ("t has one split, not folds, got --folds 5; leave --folds out, or have folds made with "
         "--split random, stratified or scaffold",),
        write("t.csv", WITH_SET),
    ),
    "more folds than molecules": Case(
        "train t.csv --folds 11",
        ("t has 10 different molecules, too few for 11 folds; take --folds 10 or fewer",),
        write("t.csv", TABLE),
    ),
    "more folds than scaffolds": Case(
        "train t.csv --split scaffold --folds 4",
        ("t has 3 scaffolds, too few for 4 folds; take --folds 3 or fewer, or --split random or",),
        write("t.csv", TABLE),
    ),
    "too few folds": Case(
        "train t.csv --folds 2",
        ("--folds must be at least 3", "got 2; one split is made without --folds"),
        write("t.csv", TABLE),
    ),
    "unknown kind of split": Case(
        "train t.csv --split scafold",
        ("unknown kind of split 'scafold'; did you mean 'scaffold'?", "time)"),
        write("t.csv", TABLE),
    ),
    "repeats without folds": Case(
        "train t.csv --split random --repeats 2",
        ("--repeats does folds again with other shuffles, and there are none; add --folds",),
        write("t.csv", TABLE),
    ),
    "sizes of folds": Case(
        "train t.csv --split random --folds 5 --split-sizes 70,15,15",
        ("--split-sizes is for one split", "leave --split-sizes or --folds out"),
        write("t.csv", TABLE),
    ),
    "sizes that sum to more": Case(
        "train t.csv --split-sizes 70,20,20",
        ("--split-sizes takes the shares of train, valid and test in percent, such as 70,15,15, "
         "got '70,20,20'",),
        write("t.csv", TABLE),
    ),
    "negative seed of a split": Case(
        "train t.csv --split random --split-seed -1",
        ("--split-seed lies in 0 … 2^63 - 1, got -1",), write("t.csv", TABLE),
    ),
    "seed of a split that is always the same": Case(
        "train t.csv --split scaffold --split-seed 1",
        ("--split scaffold is always the same", "leave --split-seed out"), write("t.csv", TABLE),
    ),
    "seed of a split that a column gives": Case(
        "train t.csv --split-seed 1",
        ("--split-seed is for a split that is made, and the split is that of column 'set'; ",
         "leave it out, or add --split random, stratified or scaffold"),
        write("t.csv", WITH_SET),
    ),
    "column of a split that is made": Case(
        "train t.csv --split random --split-column set",
        ("--split-column set is for --split column, got --split random; leave one of them out",),
        write("t.csv", WITH_SET),
    ),
    "split of a column that is not there": Case(
        "train t.csv --split column",
        ("t: no column says train, valid or test; name one with --split-column",),
        write("t.csv", TABLE),
    ),
    "times without a split by time": Case(
        "train t.csv --time-column set",
        ("--time-column set is for --split time; add that, or leave --time-column out",),
        write("t.csv", WITH_SET),
    ),
    "split by time without times": Case(
        "train t.csv --split time", ("--split time needs the column with the times: add --time",),
        write("t.csv", TABLE),
    ),
    "folds by time": Case(
        "train t.csv --split time --time-column set --folds 5",
        ("--split time is one split, whose latest rows are tested; leave --folds out",),
        write("t.csv", WITH_SET),
    ),
    "time that is none": Case(
        "train t.csv --split time --time-column set",
        ("t.csv:2: time 'train' in column 'set' is no ISO date such as 2024-05-31, no year and no "
         "number", "leave them out with --skip-bad-rows"),
        write("t.csv", WITH_SET),
    ),
    "unknown column of times": Case(
        "train t.csv --split time --time-column sett",
        ("t.csv: unknown column 'sett'; did you mean 'set'?",), write("t.csv", WITH_SET),
    ),
    "split of a set with a name": Case(
        "train MUTAG --split random", ("--split is for a", "a CSV", "'MUTAG' is not one"),
    ),
    "repeats of a set with a name": Case(
        "train MUTAG --folds 3 --repeats 2", ("--repeats is for a", "'MUTAG' is not one"),
    ),
    "scaffolds of graphs that are no molecules": Case(
        "train set --split scaffold",
        ("--split scaffold is for tables of molecules, and S is none; take --split random",),
        tu_folder(),
    ),
    "times of graphs": Case(
        "train set --split time --time-column year",
        ("--time-column is for a CSV, and 'set' is not one",), tu_folder(),
    ),
    "folds of one split": Case(
        "reconstruct t.csv --folds 5 --split random",
        ("t has one split, not folds: leave folds out, got 5",), write("t.csv", TABLE),
    ),
    "folds of a plan that has no table": Case(
        "run p.toml --folds 5", ("--folds is for none of the plan's sets; leave it out",),
        write("p.toml", 'datasets = ["MUTAG"]\nmethods = ["gmt"]\n'),
    ),
    "split of a plan that is none": Case(
        "run p.toml", ("p.toml: unknown kind of split 'scafold'",),
        lambda: (
            Path("t.csv").write_text(TABLE),
            Path("p.toml").write_text(
                'datasets = ["t.csv"]\nmethods = ["gmt"]\n[table]\nsplit = "scafold"\n'
            ),
        ),
    ),
    "more seeds than the memory holds": Case(
        "train MUTAG --seeds 100000000000", ("seeds are 1,000,000,000,000 runs", "take fewer")
    ),
    "more seeds of a plan than the memory holds": Case(
        "run table1 --seeds 9000", ("the plan asks for", "more than the 1,000,000", "fewer seeds")
    ),
    "seed beyond 64 bits": Case(
        "train MUTAG --first-seed 18446744073709551616", ("seeds lie in 0 … 2^63 - 1", "smaller")
    ),
    "negative seed": Case("train MUTAG --first-seed -1", ("from -1 on", "not below 0")),
    "number of epochs without an end": Case(
        "train MUTAG -o epochs=1e400", ("option epochs takes a whole number, got inf",)
    ),
    "rate without an end": Case("train MUTAG -o lr=1e400", ("option lr must be finite, got inf",)),
    "rate of 400 digits": Case(
        f"train MUTAG -o lr={'9' * 400}", ("option lr must lie within ±2,147,483,647, got one of",)
    ),
    "negative width": Case(
        "train MUTAG -o hidden_dim=-5", ("option hidden_dim must be at least 2, got -5",)
    ),
    "width of a billion": Case(
        "train MUTAG -o hidden_dim=1000000000", ("hidden_dim must be at most 100,000",)
    ),
    "layers without an end": Case(
        "train MUTAG -o num_layers=5000", ("option num_layers must be at most 1,000, got 5,000",)
    ),
    "clusters without an end": Case(
        "train MUTAG -m diffpool -o num_clusters=999999", ("num_clusters must be at most 100,000",)
    ),
    "model that no memory holds": Case(
        "train MUTAG -o hidden_dim=100000 -o num_heads=1 -o epochs=1",
        ("parameters, more than the 250,000,000", "make hidden_dim=100,000 smaller"),
    ),
    "workers without an end": Case(
        f"train MUTAG --workers {'9' * 5000}", ("--workers takes auto or a number from 1 to 9,999",)
    ),
    "path that is too long": Case(
        f"train {'x' * 300}", ("the path 'xxx", "cannot be used: File name too long")
    ),
    "plan that is too long": Case(f"run {'x' * 300}.toml", ("File name too long",)),
    "store that is too long": Case(f"table {'x' * 300}", ("File name too long",)),
    "set of a plan that is too long": Case(
        "run p.toml", ("the path of a dataset", "File name too long"),
        write("p.toml", f'datasets = ["{"x" * 300}.csv"]\nmethods = ["gmt"]\n'),
    ),
    "set of a plan with a NUL": Case(
        "run p.toml", ("'a\\x00b.csv' has a NUL in it; no file is called so",),
        write("p.toml", 'datasets = ["a\\u0000b.csv"]\nmethods = ["gmt"]\n'),
    ),
    "table over its own data": Case(
        "train t.csv --out ./t.csv", ("--out t.csv is what is read here; give another name",),
        write("t.csv", TABLE),
    ),
    "table over the data of its plan": Case(
        "table p.toml --out t.csv", ("--out t.csv is what is read here; give another name",),
        lambda: (
            Path("t.csv").write_text(TABLE),
            Path("p.toml").write_text('datasets = ["t.csv"]\nmethods = ["gmt"]\n'),
        ),
    ),
    "table where a folder is": Case(
        "train MUTAG --out d.md", ("--out d.md: there is a folder of that name",),
        lambda: Path("d.md").mkdir(),
    ),
    "table below a file": Case(
        "train MUTAG --out f/t.md", ("--out f/t.md: f is a file, not a folder",), write("f", "x")
    ),
    "pictures where a file is": Case(
        "train MUTAG --plots f", ("--plots f: f is a file, not a folder",), write("f", "x")
    ),
    "model where a file is": Case(
        "train MUTAG --save-model f", ("--save-model f: f is a file",), write("f", "x")
    ),
    "store where a file is": Case(
        "train MUTAG --store f", ("--store f: f is a file, not a folder",), write("f", "x")
    ),
    "control characters of a file": Case(
        "train t.csv", ("t.csv:12:", "'\\x1b[2J'"), write("t.csv", TABLE + "CCCC,\x1b[2J\n")
    ),
    "control characters of a plan": Case(
        "run p.toml --dry-run", ("unknown method 'g\\x1b[31mmt'",),
        write("p.toml", 'datasets = ["MUTAG"]\nmethods = ["g\\u001b[31mmt"]\n'),
    ),
    "no seeds": Case("train MUTAG --seeds 0", ("seeds must be at least 1, got 0",)),
    "file of another kind": Case(
        "train MUTAG --out r.pdf", ("--out ends in .csv, .html, .json, .md, .tex, .txt, got r.pdf",)
    ),
    "one model, two methods": Case(
        "train MUTAG -m gmt -m mean --save-model m", ("--save-model keeps one", "--method once")
    ),
    "model without weights": Case(
        "train MUTAG -m wl-svm --save-model m", ("wl-svm has no weights to save", "such as gmt")
    ),
    "model without weights, of all": Case(
        "train MUTAG -m gmt -m wl-svm --keep-models", ("wl-svm has no weights to save",)
    ),
    "option for networks only": Case(
        "train MUTAG -m wl-svm -o lr=0.1", ("option lr is for networks, and wl-svm is none",)
    ),
    "set without labels": Case(
        "train own", ("own/S_graph_labels.txt: no such file; a TU set needs it",),
        write_tu_without_labels,
    ),
    "learning rate that diverges": Case(
        "train MUTAG -o lr=1e30 -o warmup_epochs=0 -o epochs=2 -o hidden_dim=8",
        ("loss became nan in epoch 1 on MUTAG", "try a smaller lr than 1e+30"),
    ),
    "store with a broken line": Case(
        "table runs", ("runs/rows.jsonl:1: not a row", "remove that line"),
        lambda: (Path("runs").mkdir(), Path("runs/rows.jsonl").write_text("{oops\n{}\n")),
    ),
    "empty store": Case("table", ("runs/rows.jsonl holds no rows", "gmpool train records some")),
    "no checkpoint": Case(
        PREDICT, ("model is not a saved model: model.safetensors is missing", "--save-model"),
    ),
    "unreadable checkpoint": Case(
        PREDICT, ("model/model.safetensors cannot be read", "cut off", "train again"),
        model_and_table(cut_off),
    ),
    "weights of another shape": Case(
        PREDICT, ("model/model.safetensors does not fit the model", "train again"),
        model_and_table(weights_of_another_model),
    ),
    "checkpoint of other features": Case(
        PREDICT,
        ("the model was trained on graphs with num_features = 3, but t has", "same features"),
        lambda: (saved(classes()), Path("t.csv").write_text(TABLE)),
    ),
    "checkpoint of another version": Case(
        PREDICT, ("model/model.safetensors has format 9, this version of gmpool reads 4",),
        model_and_table(lambda: rewrite(Path("model"), text='{"format": 9}')),
    ),
    "predictions that cannot be written": Case(
        f"{PREDICT} --out t.csv/p.csv", ("--out t.csv/p.csv: t.csv is a file, not a folder",),
        model_and_table(),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_mistake_is_told(case: Case, gmpool_cli: Cli) -> None:
    case.given()
    said = gmpool_cli(*case.words.split())
    assert said.code == 2
    assert said.out == ""
    for words in case.says:
        assert words in said.err
    assert "Traceback" not in said.err
    assert "\x1b[2J" not in said.err
    assert "\x1b[31mmt" not in said.err
    assert not Path("runs/rows.jsonl").exists() or case.words.startswith("table")


def test_debug_shows_the_traceback_and_the_message(gmpool_cli: Cli) -> None:
    said = gmpool_cli("--debug", "train", "MUTAGG")
    assert said.code == 2
    assert "Traceback (most recent call last)" in said.err
    assert "did you mean 'MUTAG'?" in said.err.splitlines()[-1]


def test_nan_in_a_list_of_pyg_graphs() -> None:
    graphs = rings_and_paths(4)
    graphs[2].x[1, 0] = float("nan")
    with pytest.raises(DataError, match=r"shapes: graph 2, node 1, node_float column 0: .*nan"):
        from_pyg(graphs, name="shapes")


def test_class_out_of_range_in_a_list_of_pyg_graphs() -> None:
    graphs = rings_and_paths(4)
    graphs[3].y = torch.tensor([-1])
    with pytest.raises(DataError, match="graph 3, field y: class -1 is negative"):
        from_pyg(graphs)


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_disk_full_when_the_model_is_saved(
    gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "write_atomically", full_disk)
    said = gmpool_cli("train", "MUTAG", "--folds", 1, *FLAGS, "--save-model", "model")
    assert (said.code, said.out) == (2, "")
    assert "the model could not be saved in model: [Errno 28] No space left on device" in said.err
    assert "Free some space, or choose another folder" in said.err
    assert "Traceback" not in said.err
    assert len(Path("runs/rows.jsonl").read_text().splitlines()) == 1, "the run is recorded"


def test_disk_full_when_a_row_is_recorded(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full_disk)
    said = gmpool_cli("train", "MUTAG", "--folds", 1, *FLAGS)
    assert (said.code, said.out) == (2, "")
    assert "could not be written to runs/rows.jsonl: [Errno 28] No space left" in said.err
    assert "choose another folder with --store" in said.err
    assert Path("runs/rows.jsonl").read_bytes() == b""


def test_ctrl_c_while_training(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal to a process it is in engine/test_resume.py; here in the second of three runs."""
    runs, true = [], executor.train

    def interrupted(*args: object, **options: object) -> object:
        runs.append(options["seed"])
        if len(runs) == 2:
            raise KeyboardInterrupt
        return true(*args, **options)

    monkeypatch.setattr(executor, "train", interrupted)
    said = gmpool_cli("train", "MUTAG", "--folds", 3, *FLAGS, "--json")
    assert (said.code, said.out) == (130, "")
    assert "stopped: 1 of 3 runs are recorded in runs" in said.err
    assert "the same command goes on from there" in said.err
    assert said.err.count("stopped") == 1
    assert "Traceback" not in said.err


def test_ctrl_c_anywhere_else(gmpool_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gmpool.tasks.graph_task.load", interrupted)
    said = gmpool_cli("train", "MUTAG")
    assert (said.code, said.out, said.err.strip()) == (130, "", "stopped")
