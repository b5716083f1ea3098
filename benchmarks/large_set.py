"""A million molecules as one packed file: made of a table by `gmpool pack`, and trained from for an
epoch by `gmpool train`, with the memory of all processes together.

The molecules are those of ogbg-molhiv over and over; the label of each is its number of letters.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.predict_many import MIB, MOLECULES, PREDICTED, watched, write_table
from benchmarks.timing import alone, where
from benchmarks.whole_commands import gmpool
from gmpool.data.sources.find_file import find
from gmpool.data.sources.packed_file import load_packed
from gmpool.engine.executors.processes import usable_cores
from gmpool.errors import DataError, UserError

LABEL = "letters"


def measure(root: Path | None = None, molecules: int = MOLECULES) -> Iterator[dict[str, Any]]:
    source = find([PREDICTED], root)
    if source is None:
        raise DataError(f"no {PREDICTED}: give the folder of the tables with --data")
    facts = {"cores": usable_cores(), "molecules": molecules, **where("cpu")}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        table, packed = work / "large.csv", work / "large.safetensors"
        with_labels(source, table, molecules)
        seconds, peak = watched(words("pack", table, "--label", LABEL, "--out", packed))
        graphs = load_packed(packed, verify=False)
        if len(graphs) != molecules:
            raise UserError(f"{packed}: {len(graphs)} graphs of {molecules} molecules")
        facts |= {"entries": graphs.num_entries, "bytes": packed.stat().st_size}
        yield from rows("gmpool pack", seconds, peak, facts)
        one_epoch = ("-o", "epochs=1", "-o", "warmup_epochs=0", "--device", "cpu")
        seconds, peak = watched(words("train", packed, *one_epoch, "--store", work / "runs"))
        yield from rows("gmpool train, one epoch", seconds, peak, facts)


def with_labels(source: Path, table: Path, molecules: int) -> None:
    write_table(source, table, molecules)
    with table.open(newline="") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    with table.open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["smiles", LABEL])
        write.writerows((each, len(each)) for each in smiles)


def words(*given: object) -> list[str]:
    return [str(word) for word in gmpool(*given)]


def rows(what: str, seconds: float, peak: int, facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    name = f"{what}, {facts['molecules']:,} molecules"
    yield alone(name, seconds, "s", **facts)
    yield alone(f"{name}: a second", facts["molecules"] / seconds, "molecules", **facts)
    yield alone(f"{name}: peak memory of all processes", peak / MIB, "MiB", **facts)
