"""A Ray cluster of several nodes on this machine, with one CPU each: forty runs by two nodes beside
one and beside no cluster, the same by three of which one is killed, and 200,000 molecules in twenty
files, of whose nodes one is killed too."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.predict_many import LEARNED, PREDICTED, check, lines_of, write_table
from benchmarks.timing import alone, interleaved, row, where
from benchmarks.whole_commands import gmpool, run
from gmpool.data import load
from gmpool.data.sources.find_file import find
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.on_ray import OnRay
from gmpool.engine.executors.ray_tasks import Cluster
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import DataError, UserError
from gmpool.record import Row

SET, FOLDS, SEEDS, EPOCHS, ROUNDS = "MUTAG", 10, 4, 30, 3
MOLECULES, FILES, KILLED_AFTER = 200_000, 20, 5


def measure(
    root: Path | None = None,
    epochs: int = EPOCHS,
    rounds: int = ROUNDS,
    molecules: int = MOLECULES,
) -> Iterator[dict[str, Any]]:
    torch.set_num_threads(1)  # as every node has, whose rows are compared
    job = Job.make(
        "classify", load(SET, root), "gmt", seeds=SEEDS, folds=FOLDS, options={"epochs": epochs}
    )
    count, facts = len(job.runs), {"epochs": epochs, **where("cpu")}
    times: dict[str, float] = {}
    expected = recorded(job, Alone("cpu"))
    for nodes in (1, 2):
        with cluster_of(nodes) as (cluster, _):
            there = partial(recorded, job, OnRay(cluster))
            there()  # workers have imported what they need
            turns: dict[str, Callable[[], object]] = {"ray": there}
            if nodes == 1:
                turns["alone"] = partial(recorded, job, Alone("cpu"))
            found = interleaved(turns, rounds=rounds, warmup=0)
            times |= {f"{nodes} node(s)" if name == "ray" else name: t for name, t in found.items()}
    what = f"{count} runs of GMT on {SET} on a Ray cluster"
    yield row(f"{what}: two nodes vs one", times["2 node(s)"], times["1 node(s)"], "s", **facts)
    yield row(f"{what}: one node vs no cluster", times["1 node(s)"], times["alone"], "s", **facts)
    overhead = (times["1 node(s)"] - times["alone"]) / count
    yield alone(f"{what}: overhead of a run", overhead, "s", **facts)
    with cluster_of(3) as (cluster, nodes_of):
        began = time.perf_counter()
        killer = _Killer(lambda: nodes_of.remove_node(_last(nodes_of), False))
        same = recorded(job, OnRay(cluster), killer) == expected
        seconds = time.perf_counter() - began
    if not (same and killer.killed):
        raise UserError(f"{what}, one node killed: rows are not those of one machine")
    yield alone(f"{what}: three nodes, one killed", seconds, "s", same_rows=True, **facts)
    yield predicted(root, molecules)


def recorded(job: Job, executor: Executor, watcher: Any = None) -> list[Row]:
    """The rows, without what no two runs have in common."""
    with tempfile.TemporaryDirectory() as store:
        rows = run_jobs([job], RunStore(store), executor, watcher=watcher)
    return [replace(each, seconds=0) for each in rows]


class _Killer:
    """A watcher that kills once, after so many runs."""

    def __init__(self, kill: Callable[[], object]) -> None:
        self.kill, self.killed = kill, False

    def placed(self, runs: Mapping[str, int]) -> None:
        if not self.killed and sum(runs.values()) >= KILLED_AFTER:
            self.killed = True
            self.kill()

    def run_finished(self, *_: object, **__: object) -> None: ...

    def note(self, text: str) -> None: ...


def predicted(root: Path | None, molecules: int) -> dict[str, Any]:
    """By a command; a node is killed when some files are done, and another begun."""
    files = [find([name], root) for name in (LEARNED, PREDICTED)]
    if None in files:
        raise DataError(f"no {LEARNED} or {PREDICTED}: give the folder of the tables with --data")
    with tempfile.TemporaryDirectory() as name, cluster_of(2) as (cluster, nodes):
        work = Path(name)
        model, out = work / "model", work / "out"
        kept = ("--store", work / "runs", "--save-model", model, "--device", "cpu")
        run(gmpool("train", files[0], "-o", "epochs=1", "-o", "warmup_epochs=0", *kept))
        parts = [work / f"part-{n:02d}.csv" for n in range(FILES)]
        for part in parts:
            write_table(Path(str(files[1])), part, molecules // FILES)
        command = gmpool("predict", model, *parts, "--out", out, "--executor", "ray")
        began = time.perf_counter()
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            [*map(str, command), "--address", cluster.address], stdout=quiet, stderr=quiet
        )
        while len(list(out.glob("part-*.csv"))) < KILLED_AFTER and process.poll() is None:
            time.sleep(0.2)
        nodes.remove_node(_last(nodes), allow_graceful=False)
        nodes.add_node(num_cpus=1)
        if process.wait():
            raise UserError(f"{' '.join(map(str, command))} ended with {process.returncode}")
        seconds = time.perf_counter() - began
        for part in parts:
            check(part, out / part.name)
        rows = sum(lines_of(path) - 1 for path in out.glob("part-*.csv"))
    what = f"gmpool predict, {rows:,} molecules in {FILES} files on two nodes, one killed"
    return alone(what, seconds, "s", a_second=rows / seconds, **where("cpu"))


def _last(nodes: Any) -> Any:
    """One that is not the head."""
    return [*nodes.worker_nodes][-1]


@contextmanager
def cluster_of(nodes: int) -> Iterator[tuple[Cluster, Any]]:
    """Of so many nodes with a CPU each; beside it Ray's own object, which adds and kills nodes."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    before = dict(os.environ)
    os.environ |= {"OMP_NUM_THREADS": "1", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    small: dict[str, Any] = {"object_store_memory": 200 * 2**20}
    head = {"num_cpus": 0, "include_dashboard": False, **small}
    made = Nodes(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            made.add_node(num_cpus=1, **small)
        yield Cluster(made.address), made
    finally:
        ray.shutdown()
        made.shutdown()
        os.environ.clear()
        os.environ.update(before)
