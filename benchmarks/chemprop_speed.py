"""Whole commands beside chemprop's on two cores, in turns: training 50 epochs on ESOL and BBBP, and
predicting 20,000 molecules, with one model and with five; seconds by the clock and of processors.

Needs $CHEMPROP, the program of chemprop 2.3.1 in an environment of its own.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.chemprop_runs import EPOCHS, TABLES, chemprop_from_environment, write_table
from benchmarks.timing import row
from benchmarks.whole_commands import Took, gmpool, in_turns, run
from gmpool.data.sources.find_file import find
from gmpool.errors import DataError

ROUNDS, MEMBERS, MOLECULES = 3, 5, 20_000
FEW_EPOCHS = 3
"""The fewest that chemprop trains: more than its warm-up."""
LARGE = "ogbg-molhiv.csv.gz"


def measure(
    root: Path | None = None, rounds: int = ROUNDS, molecules: int = MOLECULES, epochs: int = EPOCHS
) -> Iterator[dict[str, Any]]:
    chemprop = chemprop_from_environment()
    data = _folder(root)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for table in ("esol", "bbbp"):
            path = write_table(table, data, work)
            turns = partial(_trained, chemprop, path, work, epochs, 1)
            yield from _rows(f"training {epochs} epochs of {table}", in_turns(turns, rounds))
        _trained(chemprop, work / "bbbp.csv", work / "many", FEW_EPOCHS, MEMBERS, 0)
        large = _large(data, work, molecules)
        for members, models in ((1, work), (MEMBERS, work / "many")):
            turns = partial(_predicted, chemprop, models, large, work)
            what = f"predicting {molecules:,} molecules, {members} model(s)"
            yield from _rows(what, in_turns(turns, rounds))


def _trained(
    chemprop: str, table: Path, work: Path, epochs: int, members: int, number: int
) -> tuple[Took, Took]:
    """What ours took, and what theirs did."""
    ours, theirs = work / f"ours-{number}", work / f"theirs-{number}"
    words = ("train", table, "-o", f"epochs={epochs}", "--members", members, "--device", "cpu")
    many = ("--workers", "auto") if members > 1 else ()
    kept = ("--store", ours / f"runs-{table.stem}", "--save-model", ours / "model")
    return run(gmpool(*words, *many, *kept)), run(
        [chemprop, "train", "-i", table, "-s", "smiles", "--splits-column", "split",
         "-t", TABLES[table.stem].task, "--pytorch-seed", 0, "--ensemble-size", members,
         "-o", theirs, "--epochs", epochs]
    )  # fmt: skip


def _predicted(
    chemprop: str, models: Path, table: Path, work: Path, number: int
) -> tuple[Took, Took]:
    theirs = sorted((models / "theirs-0").glob("model_*/best.pt"))
    command = [chemprop, "predict", "-i", table, "-s", "smiles", "--model-paths", *theirs]
    ours = gmpool("predict", models / "ours-0" / "model", table, "--out", work / f"p{number}.csv")
    return run(ours), run([*command, "-o", work / f"q{number}.csv"])


def _folder(root: Path | None) -> Path:
    found = find([TABLES["esol"].file], root)
    if found is None:
        raise DataError(f"no {TABLES['esol'].file}: give the folder of the tables with --data")
    return found.parent


def _large(data: Path, work: Path, molecules: int) -> Path:
    """The first molecules of a large set, which chemprop's RDKit reads."""
    from rdkit import Chem, rdBase

    path = work / "large.csv"
    with gzip.open(data / LARGE, "rt", newline="") as file, rdBase.BlockLogs():
        every = (row["smiles"] for row in csv.DictReader(file))
        kept = [smiles for smiles in every if Chem.MolFromSmiles(smiles) is not None]
    path.write_text("\n".join(["smiles", *kept[:molecules]]) + "\n")
    return path


def _rows(what: str, taken: Sequence[Took]) -> Iterator[dict[str, Any]]:
    ours, theirs = taken
    name = f"{what}: gmpool vs chemprop 2.3.1"
    yield row(name, ours.seconds, theirs.seconds, "s", cores=2)
    used = ours.of_processors, theirs.of_processors
    yield row(name, *used, "s of processors", cores=2)
