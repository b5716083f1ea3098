"""Cross-validations of GMT as one program (`gmpool/engine/stack/turns.py`).

side by side  ten folds of MUTAG, 40 epochs each, stacked and one after another, in turn; on a CPU
              also in processes with one thread each, as many as there are cores
full          on a GPU: ten folds × ten seeds with early stopping, in float32 and tf32
growth        on a GPU: what an epoch of one replica costs when R of them are one program

`authors_seconds` in a row of a full cross-validation is what the authors' code took for all of it,
one run after another; it was not measured beside ours.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import alone, interleaved, row, where
from gmpool.data import Dataset, load
from gmpool.engine.executors.executor import Work
from gmpool.engine.executors.processes import Processes, usable_cores
from gmpool.engine.job import Job
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.stack import Outcome, Stack
from gmpool.engine.stack.turns import train_stacked
from gmpool.engine.train import Trained, train
from gmpool.errors import UserError

AUTHORS_SECONDS = {"MUTAG": 795, "PROTEINS": 3800}
REPLICAS = (1, 10, 30, 100)
EPOCHS, SEEDS = 40, 10
PEER, PROCESSES = "one after another", "a process per core"


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    if not torch.cuda.is_available():
        yield from side_by_side(load("MUTAG", root), "cpu")
        return
    yield from side_by_side(load("MUTAG", root), "cuda", rounds=1)
    for name in AUTHORS_SECONDS:
        dataset = load(name, root)
        for tf32 in (True, False):
            with rounded(tf32):
                yield from full(dataset, "cuda")
        yield from growth(dataset, "cuda")


def job_of(dataset: Dataset, seeds: int = 1, **changes: Any) -> Job:
    """All folds of each seed, with the authors' settings and the given changes of training."""
    job = Job.make("classify", dataset, "gmt", seeds=seeds)
    return replace(job, train=replace(job.train, **changes))


def members_of(job: Job) -> list[Member]:
    return [Member(job.split(run), job.model, job.train, run.seed) for run in job.runs]


def shortened(job: Job) -> Job:
    """The same for one epoch: Triton compiles what it has not compiled for these shapes before."""
    return replace(job, train=replace(job.train, epochs=1))


def stacked(job: Job, device: str) -> list[Outcome]:
    return train_stacked(job.task, job.dataset, members_of(job), device=device)


def one_by_one(job: Job, device: str) -> list[Outcome]:
    return [
        train(job.task, job.dataset, split, model, config, seed=seed, device=device)
        for split, model, config, seed in members_of(job)
    ]


def in_workers(job: Job, device: str) -> list[Outcome]:
    """A process for each core."""
    done = Processes(usable_cores()).run([Work(job, job.runs)], None)
    return [r if isinstance(r, UserError) else r.trained for _, _, r in done]


def side_by_side(
    dataset: Dataset, device: str, *, epochs: int = EPOCHS, rounds: int = 3
) -> list[dict[str, Any]]:
    """Without early stopping, so that all do the same."""
    job = job_of(dataset, epochs=epochs, patience=None)
    sides = {"stacked": stacked, PEER: one_by_one}
    if device == "cpu":
        sides[PROCESSES] = in_workers
    for side in sides.values():
        side(shortened(job), device)
    last: dict[str, list[Outcome]] = {}

    def turn(name: str) -> None:
        last[name] = sides[name](job, device)

    times = interleaved({name: partial(turn, name) for name in sides}, rounds=rounds, warmup=0)
    return [
        row(
            f"{dataset.name}, {len(job.runs)} folds of {epochs} epochs: {ours} vs {PEER}",
            times[ours],
            times[PEER],
            "s",
            test=mean_test(last[ours]),
            peer_test=mean_test(last[PEER]),
            **where(device),
        )
        for ours in sides
        if ours != PEER
    ]


def full(dataset: Dataset, device: str, seeds: int = SEEDS, **changes: Any) -> list[dict[str, Any]]:
    """A whole cross-validation, from graphs on the host to the last test score."""
    job = job_of(dataset, seeds, **changes)

    def timed(job: Job) -> tuple[float, list[Outcome]]:
        members, start = members_of(job), time.perf_counter()
        results = train_stacked(job.task, dataset, members, device=device)
        return time.perf_counter() - start, results

    first, _ = timed(shortened(job))
    seconds, results = timed(job)
    trained = [r for r in results if isinstance(r, Trained)]
    facts = {
        "authors_seconds": AUTHORS_SECONDS.get(dataset.name),
        "one_epoch_before_seconds": first,
        "replicas": len(results),
        "failed": len(results) - len(trained),
        "epochs": sum(len(r.curve) for r in trained),
        "test": mean_test(results),
        **where(device),
    }
    tf32 = ", tf32" if torch.backends.cuda.matmul.allow_tf32 else ""
    name = f"{dataset.name}, {len(dataset.folds)} folds × {seeds} seeds{tf32}"
    return [alone(name, seconds, "s", **facts)]


def growth(
    dataset: Dataset, device: str, replicas: Sequence[int] = REPLICAS, *, epochs: int = 5
) -> list[dict[str, Any]]:
    """Seconds per epoch of one replica, beside those of a replica that is alone."""
    job, there = job_of(dataset, SEEDS), dataset.to(device)
    rows: list[dict[str, Any]] = []
    for count in replicas:
        gc.collect()  # the last stack's captured programs
        stack = Stack(job.task, there, members_of(job)[:count], torch.device(device))
        whole = interleaved({"epoch": epoch_of(stack)}, rounds=epochs)["epoch"]
        facts = {"replicas": count, "epoch_seconds": whole, **where(device)}
        name, each = f"{dataset.name}, an epoch of one of {count} replicas", whole / count
        if rows:
            rows.append(row(name, each, rows[0]["ours"], "s", **facts))
        else:
            rows.append(alone(name, each, "s", **facts))
        del stack
    return rows


def epoch_of(stack: Stack) -> Callable[[], None]:
    """Training and validation of all replicas, by the stack's programs."""

    def epoch() -> None:
        stack.train_epoch()
        stack.program.evaluate()
        stack.program.results.tolist()  # waits for the device

    return epoch


def mean_test(results: Sequence[Outcome]) -> float:
    return statistics.mean(r.test_metric for r in results if isinstance(r, Trained))


@contextmanager
def rounded(tf32: bool) -> Iterator[None]:
    """Whether float32 products on a GPU may be rounded to tf32."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
