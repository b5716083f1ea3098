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

from benchmarks.timing import interleaved, row
from gmpool.config import ModelConfig
from gmpool.data import Dataset, load
from gmpool.engine.cross_validate import Job, settings_of
from gmpool.engine.executors.processes import in_processes, usable_cores
from gmpool.engine.provenance import device_name
from gmpool.engine.stack.stack import Run, Stack
from gmpool.engine.stack.turns import train_stacked
from gmpool.engine.train import Trained, train
from gmpool.errors import UserError
from gmpool.tasks.kernel.fit import Fitted

AUTHORS_SECONDS = {"MUTAG": 795, "PROTEINS": 3800}
REPLICAS = (1, 10, 30, 100)
EPOCHS, SEEDS = 40, 10
PEER, PROCESSES = "one after another", "a process per core"
Results = Sequence[Trained | Fitted | UserError]


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


def runs_of(dataset: Dataset, seeds: int = 1, **changes: Any) -> list[Run]:
    """All folds of each seed, with the authors' settings and the given changes of training."""
    model, config = settings_of(dataset.name, "gmt", {})
    config = replace(config, **changes)
    return [Run(fold, model, config, 42 + s) for s in range(seeds) for fold in dataset.folds]


def side_by_side(
    dataset: Dataset, device: str, *, epochs: int = EPOCHS, rounds: int = 3
) -> list[dict[str, Any]]:
    """Without early stopping, so that all do the same."""
    runs, metric = runs_of(dataset, epochs=epochs, patience=None), str(dataset.metric)
    last: dict[str, Results] = {}

    def stacked(runs: Sequence[Run]) -> None:
        last["stacked"] = train_stacked(dataset.graphs, runs, metric=metric, device=device)

    def one_by_one(runs: Sequence[Run]) -> None:
        last[PEER] = [
            train(dataset.graphs, run.split, run.model, run.train, metric=metric, seed=run.seed,
                  device=device)
            for run in runs
        ]  # fmt: skip

    def in_workers(runs: Sequence[Run]) -> None:
        last[PROCESSES] = trained_by_workers(dataset, runs)

    sides = {"stacked": stacked, PEER: one_by_one}
    if device == "cpu":
        sides[PROCESSES] = in_workers
    for side in sides.values():
        side(shortened(runs))
    times = interleaved({w: partial(s, runs) for w, s in sides.items()}, rounds=rounds, warmup=0)
    return [
        row(
            f"{dataset.name}, {len(runs)} folds of {epochs} epochs: {ours} vs {PEER}",
            times[ours],
            times[PEER],
            "s",
            test=mean_test(last[ours]),
            peer_test=mean_test(last[PEER]),
            device=device_name(device),
        )
        for ours in sides
        if ours != PEER
    ]


def trained_by_workers(dataset: Dataset, runs: Sequence[Run]) -> Results:
    """All folds of one seed, a process for each core."""
    one, folds = runs[0], tuple(range(1, len(runs) + 1))
    assert isinstance(one.model, ModelConfig)
    job = Job(dataset, one.model, one.train, folds, (one.seed,))
    done = in_processes([(job, job.specs())], usable_cores())
    return [r if isinstance(r, UserError) else r[0] for _, _, r in done]


def shortened(runs: Sequence[Run]) -> list[Run]:
    """The same for one epoch: Triton compiles what it has not compiled for these shapes before."""
    return [replace(run, train=replace(run.train, epochs=1)) for run in runs]


def full(dataset: Dataset, device: str, seeds: int = SEEDS, **changes: Any) -> list[dict[str, Any]]:
    """A whole cross-validation, from graphs on the host to the last test score."""
    runs, metric = runs_of(dataset, seeds, **changes), str(dataset.metric)

    def timed(runs: Sequence[Run]) -> tuple[float, Results]:
        start = time.perf_counter()
        results = train_stacked(dataset.graphs, runs, metric=metric, device=device)
        return time.perf_counter() - start, results

    first, _ = timed(shortened(runs))
    seconds, results = timed(runs)
    trained = [r for r in results if isinstance(r, Trained)]
    facts = {
        "authors_seconds": AUTHORS_SECONDS.get(dataset.name),
        "one_epoch_before_seconds": first,
        "replicas": len(runs),
        "failed": len(results) - len(trained),
        "epochs": sum(len(r.curve) for r in trained),
        "test": mean_test(results),
        "device": device_name(device),
    }
    tf32 = ", tf32" if torch.backends.cuda.matmul.allow_tf32 else ""
    name = f"{dataset.name}, {len(dataset.folds)} folds × {seeds} seeds{tf32}"
    return [_alone(name, seconds, **facts)]


def growth(
    dataset: Dataset, device: str, replicas: Sequence[int] = REPLICAS, *, epochs: int = 5
) -> list[dict[str, Any]]:
    """Seconds per epoch of one replica, beside those of a replica that is alone."""
    runs, rows, alone = runs_of(dataset, SEEDS), [], None
    for count in replicas:
        gc.collect()  # the last stack's captured programs
        stack = Stack(dataset.graphs.to(device), runs[:count], str(dataset.metric))
        whole = interleaved({"epoch": epoch_of(stack)}, rounds=epochs)["epoch"]
        facts = {"replicas": count, "epoch_seconds": whole, "device": device_name(device)}
        name = f"{dataset.name}, an epoch of one of {count} replicas"
        each = whole / count
        rows.append(
            _alone(name, each, **facts) if alone is None else row(name, each, alone, "s", **facts)
        )
        alone = each if alone is None else alone
        del stack
    return rows


def epoch_of(stack: Stack) -> Callable[[], None]:
    """Training and validation of all replicas, by the stack's programs."""

    def epoch() -> None:
        stack.train_epoch()
        stack.program.evaluate()
        stack.program.results.tolist()  # waits for the device

    return epoch


def mean_test(results: Results) -> float:
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


def _alone(name: str, seconds: float, **facts: Any) -> dict[str, Any]:
    """A row without a peer."""
    return {"name": name, "ours": seconds, "peer": None, "ratio": None, "unit": "s", **facts}
