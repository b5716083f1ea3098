"""What stands beside chemprop: scores, calibration errors and the table, with a program that plays
chemprop's part."""

from __future__ import annotations

import csv
import gzip
import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import chemprop_accuracy, chemprop_runs, chemprop_speed
from benchmarks.chemprop_accuracy import calibration_error, score, table_of
from benchmarks.chemprop_runs import labels_of, said_by, train, write_table
from benchmarks.whole_commands import Took
from gmpool.errors import UserError

pytest.importorskip("rdkit")
PLAYS = """#!{python}
import csv, sys
from pathlib import Path

words = sys.argv[1:]
given = dict(zip(words[1::2], words[2::2]))
with open(given["-i"]) as file:
    rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
for number in range(int(given["--ensemble-size"])):
    folder = Path(given["-o"]) / f"model_{{number}}"
    folder.mkdir(parents=True)
    with (folder / "test_predictions.csv").open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["smiles", "y"])
        write.writerows([row["smiles"], number + int(given["--pytorch-seed"])] for row in rows)
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """As shared sets are kept, with a molecule that RDKit refuses."""
    text = (
        "smiles,y,split\nCCO,1.5,train\nCCN,,valid\nc1ccccc1,2.5,test\nCX,1.0,test\nCC,0.5,test\n"
    )
    with gzip.open(tmp_path / "esol.csv.gz", "wt") as file:
        file.write(text)
    return write_table("esol", tmp_path, tmp_path)


@pytest.fixture
def chemprop(tmp_path: Path) -> str:
    program = tmp_path / "chemprop"
    program.write_text(PLAYS.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    return str(program)


def test_the_table_is_as_both_read_it(table: Path) -> None:
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert [row["split"] for row in rows] == ["train", "val", "test", "test"]
    smiles, y = labels_of(table, "test")
    assert smiles == ["c1ccccc1", "CC"]
    assert y.tolist() == [[2.5], [0.5]]
    assert np.isnan(labels_of(table, "val")[1]).all()


def test_what_was_trained_is_not_trained_again(table: Path, chemprop: str, tmp_path: Path) -> None:
    out = tmp_path / "esol" / "seed-5"
    seconds = train(chemprop, table, out, 5, members=3)
    assert seconds > 0
    Path(chemprop).unlink()
    assert train(chemprop, table, out, 5, members=3) == seconds
    assert said_by(out)[:, :, 0].tolist() == [[5, 5], [6, 6], [7, 7]]
    *each, all_of_them = chemprop_accuracy.peers("esol", tmp_path, 5)
    assert [single[0][:, 0].tolist() for single in each] == [[5, 5], [6, 6], [7, 7]]
    assert not any(single[1] for single in each)
    assert all_of_them[0].tolist() == [[6], [6]]
    assert all_of_them[1] is not None
    assert all_of_them[1][:, 0] == pytest.approx([np.std([5, 6, 7])] * 2)


def test_what_fails_says_so(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="failed"):
        train(sys.executable, table, tmp_path / "none", 0)
    with pytest.raises(UserError, match="has left no predictions"):
        said_by(tmp_path / "none")
    monkeypatch.delenv("CHEMPROP", raising=False)
    with pytest.raises(UserError, match="set CHEMPROP to the program"):
        chemprop_runs.chemprop_from_environment()


def test_scores() -> None:
    y = np.array([[0.0, np.nan], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    p = np.array([[0.1, 0.5], [0.4, 0.5], [0.6, 0.5], [0.9, 0.5]])
    assert score("tox21", p, y) == 75.0  # of the column with both answers
    gap = np.array([[1.0], [np.nan]])
    assert score("esol", np.array([[3.0], [99.0]]), gap) == 2.0


def test_calibration_errors_find_what_is_wrong() -> None:
    draw = np.random.default_rng(0)
    p = draw.uniform(size=(20_000, 1))
    y = (draw.uniform(size=p.shape) < p).astype(float)
    right, wrong = (calibration_error("bbbp", (each, None), y) for each in (p, p**2))
    assert right is not None
    assert wrong is not None
    assert right < 0.02 < 0.1 < wrong
    value, std = np.zeros((20_000, 1)), np.full((20_000, 1), 2.0)
    truth = norm.rvs(scale=2.0, size=value.shape, random_state=0)
    sure, proud = (calibration_error("esol", (value, each), truth) for each in (std, std / 2))
    assert sure is not None
    assert proud is not None
    assert sure < 0.01 < 0.1 < proud
    assert calibration_error("esol", (value, None), truth) is None


def test_the_table_has_means_over_seeds() -> None:
    who = ("gmpool", "gmpool, descriptors", "chemprop", "random forest")
    rows = [
        chemprop_accuracy._row("esol", name, seed, 1, number + seed / 10, None)
        for number, name in enumerate(who)
        for seed in (0, 2)
    ]
    lines = table_of(rows).splitlines()
    assert lines[2].startswith("| esol | RMSE | 1 | 0.100 ± 0.141 (2) | 1.100 ± 0.141 (2) | 2.100")
    assert lines[3].endswith("| – | – | – | – |")
    assert len(lines) == 4


def test_rows_of_whole_commands() -> None:
    rows = list(chemprop_speed._rows("training", (Took(1, 1), Took(10, 2))))
    assert [row["ratio"] for row in rows] == [10, 2]
    assert json.dumps(rows)
