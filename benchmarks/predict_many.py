"""A million molecules through `gmpool predict` on a CPU: rows a second, the memory of all processes
together, and whether a command that is killed in the middle goes on and leaves nothing out.

The molecules are those of ogbg-molhiv over and over, 41,127 different ones: nothing is kept from
one to its next. The model has the size of the preset for own molecules; what it has learned does
not matter here.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.timing import alone, where
from benchmarks.whole_commands import gmpool, run
from gmpool.data.sources.find_file import find
from gmpool.engine.executors.processes import usable_cores
from gmpool.errors import DataError, UserError

LEARNED, PREDICTED = "esol.csv.gz", "ogbg-molhiv.csv.gz"
MOLECULES, KILLED_AT, MIB = 1_000_000, 0.5, 2**20
ROUNDING = 1e-4
"""Of a prediction: six digits of it are written, the last of which may depend on batch-mates."""


def measure(root: Path | None = None, molecules: int = MOLECULES) -> Iterator[dict[str, Any]]:
    files = [find([name], root) for name in (LEARNED, PREDICTED)]
    if None in files:
        raise DataError(f"no {LEARNED} or {PREDICTED}: give the folder of the tables with --data")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        model, table, made = work / "model", work / "large.csv", work / "made.csv"
        kept = ("--store", work / "runs", "--save-model", model, "--device", "cpu")
        run(gmpool("train", files[0], "-o", "epochs=1", "-o", "warmup_epochs=0", *kept))
        write_table(Path(str(files[1])), table, molecules)
        command = [str(word) for word in gmpool("predict", model, table, "--out", made)]
        part = made.with_name(f".{made.name}.part")  # of about the bytes of the table
        first = watched(command, stop_at=int(KILLED_AT * table.stat().st_size), part=part)
        rows_before = lines_of(part) - 1
        second = watched(command)
        check(table, made)
        facts = {"cores": usable_cores(), "molecules": molecules, **where("cpu")}
        seconds, peak = first[0] + second[0], max(first[1], second[1])
        what = f"gmpool predict, {molecules:,} molecules"
        facts["killed_after_rows"] = rows_before
        yield alone(f"{what}, killed in the middle and gone on", seconds, "s", **facts)
        yield alone(f"{what}: a second", molecules / seconds, "molecules", **facts)
        yield alone(f"{what}: peak memory of all processes", peak / MIB, "MiB", **facts)


def write_table(source: Path, path: Path, molecules: int) -> None:
    with gzip.open(source, "rt", newline="") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file)]
    with path.open("w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["number", "smiles"])
        write.writerows(enumerate(itertools.islice(itertools.cycle(smiles), molecules)))


def watched(command: list[str], *, stop_at: int = 0, part: Path | None = None) -> tuple[float, int]:
    """Seconds, and the most bytes that the process and its workers had together. part: a file; the
    process is killed, with nothing to say, when that has so many bytes."""
    began, most = time.perf_counter(), 0
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    while process.poll() is None:
        most = max(most, memory_of(process.pid))
        if part is not None and part.exists() and part.stat().st_size >= stop_at:
            process.send_signal(signal.SIGKILL)
            process.wait()
            break
        time.sleep(0.25)
    if process.returncode and process.returncode != -signal.SIGKILL:
        raise UserError(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - began, most


def memory_of(process: int) -> int:
    """Bytes of a process and all that it has started; what they share counts once."""
    found = 0
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        found += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        for thread in os.listdir(f"/proc/{process}/task"):
            children = Path(f"/proc/{process}/task/{thread}/children").read_text().split()
            found += sum(memory_of(int(child)) for child in children)
    except (OSError, ValueError):  # it has ended meanwhile
        return found
    return found


def lines_of(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def check(table: Path, made: Path) -> None:
    """Each row once, in its order, and equal molecules with equal predictions."""
    known: dict[str, str] = {}
    with table.open(newline="") as asked, made.open(newline="") as answered:
        pairs = itertools.zip_longest(csv.DictReader(asked), csv.DictReader(answered))
        for number, (before, after) in enumerate(pairs):
            if before is None or after is None or before["number"] != after["number"]:
                raise UserError(f"{made}, row {number}: not the row of {table}")
            said = after[next(name for name in after if name.startswith("pred_"))]
            if not said and not after["problem"]:
                raise UserError(f"{made}, row {number}: neither a prediction nor a problem")
            first = float(known.setdefault(after["smiles"], said) or 0)
            if abs(first - float(said or 0)) > ROUNDING * max(1.0, abs(first)):
                raise UserError(f"{made}, row {number}: another prediction than before")
