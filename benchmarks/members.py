"""An ensemble of eight beside one model, by the preset for own molecules on ESOL: in processes on a
CPU, where one model has a single thread, or all, and as one program on a GPU; then whole commands,
as a person waits for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import interleaved, row, versus, where
from benchmarks.whole_commands import Took, gmpool, in_turns, run
from gmpool.data import Dataset, load_table
from gmpool.data.sources.find_file import find
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.processes import Processes, usable_cores
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import DataError

FILE, MEMBERS, EPOCHS = "esol.csv.gz", 8, 50


def measure(
    root: Path | None = None, rounds: int = 3, members: int = MEMBERS, epochs: int = EPOCHS
) -> Iterator[dict[str, Any]]:
    path = find([FILE], root)
    if path is None:
        raise DataError(f"no {FILE}: give the folder of the tables with --data")
    train = partial(trained, load_table(path), epochs)
    several, cores = f"{members} members", usable_cores()
    facts = {"epochs": epochs}
    contestants = {
        several: partial(train, Processes(cores), members),
        "one model, one thread": partial(with_threads, 1, partial(train, Alone("cpu"))),
        "one model, all threads": partial(with_threads, cores, partial(train, Alone("cpu"))),
    }
    times = interleaved(contestants, rounds=rounds)
    yield from versus(times, several, FILE.split(".")[0], cores=cores, **facts, **where("cpu"))
    yield whole_commands(path, members, rounds, **facts)
    if torch.cuda.is_available():
        contestants = {
            several: partial(train, Stacked("cuda"), members),
            "one model": partial(train, Stacked("cuda")),
        }
        times = interleaved(contestants, rounds=rounds)
        yield from versus(times, several, FILE.split(".")[0], **facts, **where("cuda"))


def whole_commands(path: Path, members: int, rounds: int, epochs: int) -> dict[str, Any]:
    """From a table to a saved model, on a CPU."""
    words = ("train", path, "--device", "cpu", "-o", f"epochs={epochs}")

    def turn(number: int) -> tuple[Took, ...]:
        with tempfile.TemporaryDirectory() as name:
            kept = ("--store", f"{name}/one", "--save-model", f"{name}/model-of-one")
            one = run(gmpool(*words, *kept))
            kept = ("--store", f"{name}/many", "--save-model", f"{name}/model-of-many")
            return run(gmpool(*words, "--members", members, *kept)), one

    ours, peer = in_turns(turn, rounds)
    what = f"gmpool train {FILE}: {members} members vs one model"
    facts = {"cores": usable_cores(), "epochs": epochs, **where("cpu")}
    return row(what, ours.seconds, peer.seconds, "s", **facts)


def trained(dataset: Dataset, epochs: int, executor: Executor, members: int = 1) -> None:
    """All epochs: one that stops early would decide the ratio."""
    options = {"members": members, "epochs": epochs, "patience": None}
    job = Job.make("classify", dataset, "gmt", options=options)
    with tempfile.TemporaryDirectory() as store:
        run_jobs([job], RunStore(store), executor)


def with_threads(threads: int, do: Callable[[], None]) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        do()
    finally:
        torch.set_num_threads(before)
