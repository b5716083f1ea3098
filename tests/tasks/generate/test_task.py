"""`gmpool generate train`: what it understands, records and keeps, and what a mistake gets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from few_molecules import FEW, FLAGS, few_molecules, write_table
from own_set import write_set
from plan_texts import plan_of
from safetensors.torch import load_file
from said import Said
from small_jobs import timeless

from gmpool.data import CATALOGUE
from gmpool.engine.checkpoint import load_model
from gmpool.engine.job import Job
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.model import MolGAN
from gmpool.tasks.generate.task import SPLITS
from gmpool.tasks.task import TASKS

Cli = Callable[..., Said]
GENERATE = TASKS["generate"]
ROOT = Path(__file__).parents[3]
TRAIN = ("generate", "train", "few.csv", "--device", "cpu")
UNDERSTOOD = """\
few.csv: separated by ',', 6 rows
molecules: column 'smiles'
molecules: 6 with 2 to 3 atoms of C, O; bonds: single
"""


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table("few.csv")


def test_a_table_is_understood_learned_and_kept_once(gmpool_cli: Cli) -> None:
    words = (*TRAIN, "--save-model", "m", *FLAGS)
    said = gmpool_cli(*words)
    assert said.code == 0, said.err
    assert said.err.startswith(UNDERSTOOD)
    assert said.err.endswith("model: m\n")
    (row,) = RunStore("runs")
    assert (row.task, row.dataset, row.method, row.seed) == ("generate", "few", "gmpool", 42)
    assert f"gmpool on few  seed 42  test vun {row.test:.2f}  (2 epochs, " in said.err
    for word in ("Generated molecules", "strict %", "valid × unique × novel %", "gmpool"):
        assert word in said.out
    task, model, description = load_model("m")
    assert task is GENERATE
    assert isinstance(model, MolGAN)
    assert description["about"]["key"] == row.key
    assert model.shape.alphabet == Alphabet(3, ("C", "O"), ("SINGLE",))
    assert model.shape.learned is not None
    assert all(smiles in model.shape.learned for smiles in FEW)
    before = Path("runs/rows.jsonl").read_bytes()

    again = gmpool_cli(*words)
    assert again.code == 0, again.err
    assert f"gmpool on few  seed 42  test vun {row.test:.2f}  (recorded before)\n" in again.err
    assert again.err.endswith("model: m, which was there already\n")
    assert again.out == said.out
    assert Path("runs/rows.jsonl").read_bytes() == before


def test_poolings_side_by_side_stacked(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*TRAIN, "-m", "mean", "-m", "sum", "--seeds", 2, "--replicas", 4, *FLAGS)
    assert said.code == 0, said.err
    rows = list(RunStore("runs"))
    assert [(row.method, row.seed, row.replicas) for row in rows] == [
        ("mean", 42, 4), ("mean", 43, 4), ("sum", 42, 4), ("sum", 43, 4)
    ]  # fmt: skip


def test_rewards_are_found_one_run_at_a_time(gmpool_cli: Cli) -> None:
    words = (*TRAIN, "-m", "mean", *FLAGS, "-o", "imitation=0.5", "-o", "epoch_steps=1")
    said = gmpool_cli(*words, "--replicas", 2, "--seeds", 2)
    assert said.code == 0, said.err
    assert "mean on few runs one at a time: rewards are found by RDKit\n" in said.err
    rows = list(RunStore("runs"))
    assert [row.replicas for row in rows] == [1, 1]
    assert [row.more["generated"]["iteration"] for row in rows] == [[1, 2], [1, 2]]
    plain = gmpool_cli(*TRAIN, "-m", "mean", *FLAGS, "-o", "epoch_steps=1")
    assert plain.code == 0
    assert rows[0].parameters > list(RunStore("runs"))[-1].parameters, "a network more"


MISTAKES: dict[str, tuple[Sequence[str], str, Sequence[str]]] = {
    "too large": (
        ["CC", "CCCCCC", "CO"],
        "1 of 3 molecules cannot be written as small graphs without charges:\n"
        "  few.csv:3: CCCCCC: it has 6 atoms, where 3 are the most\n"
        "leave them out with --skip-bad-rows",
        ["--max-atoms", "3"],
    ),
    "another element": (
        ["CC", "CCl"],
        "1 of 2 molecules cannot be written as small graphs without charges:\n"
        "  few.csv:3: CCl: it has an atom Cl\n"
        "leave them out with --skip-bad-rows",
        ["--element", "C", "--element", "O"],
    ),
    "charges": (
        ["C[NH3+]", "CC"],
        "1 of 2 molecules cannot be written as small graphs without charges:\n"
        "  few.csv:2: C[NH3+]: it has a charged atom\n"
        "leave them out with --skip-bad-rows",
        [],
    ),
    "nothing that fits": (
        ["C", "[Na+].[Cl-]"],
        "few: no molecule fits; the first: it has fewer than two atoms besides hydrogen",
        ["--skip-bad-rows"],
    ),
    "nothing that can be read": (
        ["C1CC", "Q"],
        "few.csv: no usable row; the first problem is few.csv:2: cannot parse SMILES 'C1CC'",
        ["--skip-bad-rows"],
    ),
    "unknown method": (
        FEW,
        "unknown method 'gmpol'; did you mean 'gmpool'? (known: gmpool, gmt, max, mean, mean-wide, "
        "mincut, set2set, sum)",
        ["-m", "gmpol"],
    ),
    "unknown output": (
        FEW,
        "unknown output 'soft'; did you mean 'softmax'? (known: gumbel, hard, softmax)",
        ["-o", "output=soft"],
    ),
    "unknown reward": (
        FEW,
        "unknown reward 'logq'; did you mean 'logp'? (known: logp, qed, sa, unique, validity)",
        ["-o", "rewards=validity-logq"],
    ),
    "no such limit": (
        FEW, "option max_atoms must lie between 2 and 100, got 1", ["--max-atoms", "1"]
    ),
    "no draws": (FEW, "option draws must lie between 1 and 10,000,000, got 0", ["-o", "draws=0"]),
    "no share": (FEW, "imitation must lie in [0, 1], got 2.0", ["-o", "imitation=2"]),
    "no folds": (FEW, "few has one split, not folds: leave folds out, got 3", ["--folds", "3"]),
}  # fmt: skip


@pytest.mark.parametrize("which", MISTAKES)
def test_a_mistake_is_told_before_anything_is_done(which: str, gmpool_cli: Cli) -> None:
    smiles, message, words = MISTAKES[which]
    write_table("few.csv", smiles)
    said = gmpool_cli(*TRAIN, *words)
    assert (said.code, said.out, said.err) == (2, "", f"error: {message}\n")
    assert not Path("runs").exists()


def test_an_unknown_option_is_told_what_there_is(gmpool_cli: Cli) -> None:
    said = gmpool_cli(*TRAIN, "-m", "mincut", "-o", "num_cluster=3")
    assert said.code == 2
    assert "unknown option 'num_cluster'; did you mean 'num_clusters'? (known: " in said.err
    mean = gmpool_cli(*TRAIN, "-m", "mean", "-o", "num_heads=3")
    assert "unknown option 'num_heads' (known: batch_size, " in mean.err


def test_files_that_are_no_table_of_molecules(gmpool_cli: Cli) -> None:
    for text, message in (
        ("", "few.csv: the file is empty; expected a header row"),
        ("a,b\n1,2\n", "few.csv: no column is called 'smiles'; name the one that holds SMILES "
                       "with --smiles-column (columns: 'a', 'b')"),
    ):  # fmt: skip
        Path("few.csv").write_text(text)
        said = gmpool_cli(*TRAIN)
        assert (said.code, said.err) == (2, f"error: {message}\n")
    write_set(Path("own"))
    said = gmpool_cli("generate", "train", "own")
    assert (said.code, said.err) == (
        2, "error: SHAPES holds no molecules; give a table with a column of SMILES, or QM9\n"
    )  # fmt: skip


def test_what_is_left_out_is_counted(gmpool_cli: Cli) -> None:
    write_table("few.csv", [*FEW, "C1CC", "C", "C[NH3+]", "C", "CCCCCCC"])
    said = gmpool_cli(*TRAIN, "--skip-bad-rows", "--max-atoms", 5, *FLAGS)
    assert said.code == 0, said.err
    lines = said.err.splitlines()
    assert lines[0] == "few.csv: separated by ',', 11 rows, 1 left out"
    assert lines[1:7] == [
        "molecules: column 'smiles'",
        "left out: few.csv:8: cannot parse SMILES 'C1CC'",
        "molecules: 6 with 2 to 3 atoms of C, O; bonds: single",
        "left out: 2, because they have fewer than two atoms besides hydrogen",
        "left out: 1, because they have 7 atoms, where 5 are the most",
        "left out: 1, because they have a charged atom",
    ]


def test_labels_of_a_table_are_no_concern(gmpool_cli: Cli) -> None:
    """Whatever stands in other columns: nothing is learned of it."""
    text = "name,SMILES,energy,note\n" + "".join(f"a{i},{s},x{i},\n" for i, s in enumerate(FEW))
    Path("few.csv").write_text(text)
    said = gmpool_cli(*TRAIN, *FLAGS)
    assert said.code == 0, said.err
    assert "molecules: column 'SMILES'" in said.err


def test_a_plan_may_say_what_fits(tmp_path: Path) -> None:
    head = 'task = "generate"\ndatasets = ["few.csv"]\nmethods = ["mean"]\n[table]\n'
    limits = "max_atoms = 2\nelement = 'C'\nskip_bad_rows = true\n"
    own = plan_of(tmp_path, head + limits).own["few"]
    assert own.smiles == ("CC",)
    with pytest.raises(UserError, match=r"few\.csv:4: CCO: it has 3 atoms, where 2 are the most"):
        plan_of(tmp_path, head + "max_atoms = 2\n")


def test_what_is_known_of_sets_by_their_names() -> None:
    card = GENERATE.card("QM9")
    assert card is not None
    assert card.split_digests == (SPLITS["QM9"],)
    assert card.graphs == CATALOGUE["QM9"].graphs == 133_885
    assert GENERATE.card("MUTAG") is None
    assert GENERATE.card("few.csv") is None


def test_every_pooling_says_what_it_is() -> None:
    for method in GENERATE.methods():
        assert len(GENERATE.about(method)) > 10
        model, _ = GENERATE.settings(GENERATE.card_of(few_molecules()), method, {})
        assert GENERATE.label(model) == method
    options = {"softmax": "seeds", "num_heads": 2}
    made = Job.make("generate", few_molecules(), "gmpool", options=options)
    assert made.label == "gmpool softmax=seeds num_heads=2"


def started(words: Sequence[object]) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "gmpool", *map(str, words)], env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def test_killed_and_resumed_ends_with_the_same_bits(gmpool_cli: Cli) -> None:
    words = (*TRAIN, "-m", "mean", "--seeds", 3, *FLAGS, "-o", "epoch_steps=60", "--keep-models")
    running = started([*words, "--store", "killed"])
    rows = Path("killed/rows.jsonl")
    for _ in range(6000):
        if running.poll() is not None or (rows.is_file() and b"\n" in rows.read_bytes()):
            break
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = rows.read_bytes()
    assert 0 < before.count(b"\n") < 3, "killed in the middle"
    resumed = gmpool_cli(*words, "--store", "killed")
    assert resumed.code == 0, resumed.err
    assert resumed.err.count("recorded before") == before.count(b"\n")
    assert rows.read_bytes().startswith(before[: before.rindex(b"\n")]), "what was there stays"
    assert gmpool_cli(*words, "--store", "whole").code == 0
    mine, theirs = ({row.key: row for row in RunStore(store)} for store in ("killed", "whole"))
    assert len(theirs) == 3
    assert mine.keys() == theirs.keys()
    for key in theirs:
        assert timeless([mine[key]]) == timeless([theirs[key]])
        weights, expected = (
            load_file(f"{store}/models/{key}/model.safetensors") for store in ("killed", "whole")
        )
        assert weights.keys() == expected.keys()
        assert all(weights[name].equal(expected[name]) for name in expected)
