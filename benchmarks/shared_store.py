"""Two commands that are started on one run store beside one command: forty runs of mean pooling on
MUTAG, from the start of Python to the table, with one thread in each process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.timing import interleaved, versus
from gmpool.engine.store import RunStore

FOLDS, SEEDS, EPOCHS, ROUNDS = 10, 4, 30, 3


def measure(root: Path | None = None, epochs: int = EPOCHS) -> list[dict[str, Any]]:
    recorded: dict[int, int] = {}

    def started(processes: int) -> None:
        with tempfile.TemporaryDirectory() as store:
            command = [
                *(sys.executable, "-m", "gmpool", "train", "MUTAG", "--method", "mean"),
                *("--folds", str(FOLDS), "--seeds", str(SEEDS), "--option", f"epochs={epochs}"),
                *("--device", "cpu", "--store", store, "--json"),
                *(("--data", str(root)) if root else ()),
            ]
            quiet, one = subprocess.DEVNULL, {**os.environ, "OMP_NUM_THREADS": "1"}
            running = [
                subprocess.Popen(command, stdout=quiet, stderr=quiet, env=one)
                for _ in range(processes)
            ]
            if any(process.wait() for process in running):
                raise RuntimeError(f"{' '.join(command)} failed")
            recorded[processes] = len(list(RunStore(store)))

    turns = {"two processes": partial(started, 2), "one process": partial(started, 1)}
    times = interleaved(turns, rounds=ROUNDS, warmup=0)
    rows = recorded[2]
    return versus(
        times, "two processes", f"{rows} runs of one store", epochs=epochs, rows=rows, threads=1
    )
