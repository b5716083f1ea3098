"""chemprop on the four tables of molecules, in an environment of its own: what it said, and how
long it took. What was finished is not done again."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gmpool.atomic_files import write_atomically
from gmpool.errors import UserError

Array = NDArray[np.float64]
MEMBERS, EPOCHS = 5, 50
"""Of an ensemble; of chemprop's default training."""


class Table(NamedTuple):
    """A set: its file in the data folder, what chemprop calls its task, and whether more is better
    in its score."""

    file: str
    task: str

    @property
    def is_classes(self) -> bool:
        return self.task == "classification"


TABLES = {
    "esol": Table("esol.csv.gz", "regression"),
    "freesolv": Table("freesolv.csv.gz", "regression"),
    "bbbp": Table("ogbg-molbbbp.csv.gz", "classification"),
    "tox21": Table("ogbg-moltox21.csv.gz", "classification"),
}


def write_table(name: str, data: Path, work: Path) -> Path:
    """The set as both read it: chemprop calls validation val, and ends at a SMILES that its RDKit
    refuses, so that the eight such rows of Tox21 are left out for both."""
    from rdkit import Chem, rdBase

    path = work / f"{name}.csv"
    if path.exists():
        return path
    with gzip.open(data / TABLES[name].file, "rt", newline="") as file:
        header, *rows = list(csv.reader(file))
    part = header.index("split")
    with rdBase.BlockLogs():
        kept = [row for row in rows if Chem.MolFromSmiles(row[0]) is not None]
    lines = [[*row[:part], {"valid": "val"}.get(row[part], row[part])] for row in kept]
    text = "\n".join(",".join(line) for line in [header, *lines]) + "\n"
    write_atomically({path: text.encode()})
    return path


def labels_of(path: Path, part: str) -> tuple[list[str], Array]:
    """(the SMILES, the labels [n, T] with NaN for gaps) of one part of a table."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == part]
    names = [name for name in rows[0] if name not in ("smiles", "split")]
    values = [[float(row[name] or "nan") for name in names] for row in rows]
    return [row["smiles"] for row in rows], np.array(values)


def train(
    chemprop: str, table: Path, out: Path, seed: int, *, members: int = MEMBERS, threads: int = 1,
    epochs: int = EPOCHS,
) -> float:  # fmt: skip
    """Train an ensemble with default settings, unless it was done before; the seconds it took."""
    done = out / "done.json"
    if not done.exists():
        began = time.perf_counter()
        _run(
            [
                chemprop, "train", "-i", str(table), "-s", "smiles", "--splits-column", "split",
                "-t", TABLES[table.stem].task, "--pytorch-seed", str(seed),
                "--ensemble-size", str(members), "-o", str(out), "--epochs", str(epochs),
            ],
            threads,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        write_atomically({done: json.dumps({"seconds": seconds, "threads": threads}).encode()})
    return float(json.loads(done.read_text())["seconds"])


def said_by(out: Path) -> Array:
    """What each member says of the test part: probabilities or values. [M, n, T]"""
    files = sorted(out.glob("model_*/test_predictions.csv"))
    if not files:
        raise UserError(f"{out}: chemprop has left no predictions of the test part there")
    found = []
    for path in files:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        found.append([[float(v) for k, v in row.items() if k != "smiles"] for row in rows])
    return np.array(found)


def predict(chemprop: str, model: Path, table: Path, out: Path, threads: int) -> float:
    """Seconds for a table with trained members."""
    began = time.perf_counter()
    models = [str(path) for path in sorted(model.glob("model_*/best.pt"))]
    _run(
        [
            chemprop, "predict", "-i", str(table), "-s", "smiles", "--model-paths", *models,
            "-o", str(out),
        ],
        threads,
    )  # fmt: skip
    return time.perf_counter() - began


def _run(command: Sequence[str], threads: int) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


def chemprop_from_environment() -> str:
    """Where chemprop is: $CHEMPROP, in an environment with chemprop 2.3.1."""
    found = os.environ.get("CHEMPROP")
    if not found or not Path(found).exists():
        raise UserError(
            "set CHEMPROP to the program of chemprop 2.3.1 in an environment of its own: "
            "python -m venv c; c/bin/pip install torch==2.13.0 chemprop==2.3.1; "
            "export CHEMPROP=c/bin/chemprop"
        )
    return found
