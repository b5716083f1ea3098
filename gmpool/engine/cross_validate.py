"""Folds × seeds of one method on one set, through the run store."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol

from gmpool.config import ModelConfig, RunSpec, TrainConfig, configure
from gmpool.data import Dataset
from gmpool.engine.checkpoint import save_model
from gmpool.engine.kernel import Fitted, fit_kernel, is_kernel
from gmpool.engine.rows import curve_of, run_row
from gmpool.engine.stack import Run
from gmpool.engine.stack_size import largest_stack
from gmpool.engine.stacked import cannot_stack, train_stacked
from gmpool.engine.store import Row, RunStore
from gmpool.engine.train import Epoch, Trained, train
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_options
from gmpool.tasks.trainable import Trainable


class Watcher(Protocol):
    """Who wants to see runs go by: a progress bar, or nobody."""

    def run_started(self, spec: RunSpec) -> Callable[[Epoch], None]: ...

    def stack_started(self, specs: Sequence[RunSpec]) -> Callable[[int, int], None]: ...

    def run_finished(self, spec: RunSpec, row: Row, *, reused: bool) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Job:
    """One method on one set with all its folds and seeds."""

    dataset: Dataset
    model: ModelConfig
    train: TrainConfig
    folds: tuple[int, ...]
    seeds: tuple[int, ...]

    @classmethod
    def make(
        cls,
        dataset: Dataset,
        method: str,
        *,
        folds: int,
        seeds: int,
        first_seed: int = 42,
        options: Mapping[str, Any] | None = None,
    ) -> Job:
        require_folds(dataset)
        if not 1 <= folds <= len(dataset.folds):
            raise UserError(
                f"{dataset.name} has {len(dataset.folds)} fold(s), so folds must lie in "
                f"1 … {len(dataset.folds)}, got {folds}"
            )
        if seeds < 1:
            raise UserError(f"seeds must be at least 1, got {seeds}")
        model, config = settings_of(dataset.name, method, options or {})
        numbers = tuple(range(first_seed, first_seed + seeds))
        return cls(dataset, model, config, tuple(range(1, folds + 1)), numbers)

    def specs(self) -> list[RunSpec]:
        """Every run, seed by seed so that a first seed is complete early."""
        graphs = self.dataset.graphs
        return [
            RunSpec(
                task="classify",
                dataset=self.dataset.name,
                data_digest=graphs.digest,
                model=self.model,
                train=self.train,
                seed=seed,
                fold=fold,
                split_digest=self.dataset.folds[fold - 1].digest,
            )
            for seed in self.seeds
            for fold in self.folds
        ]


def require_folds(dataset: Dataset) -> None:
    if dataset.folds and dataset.metric is None:
        raise UserError(
            f"{dataset.name} has no labels to train on; its nodes can be reconstructed: "
            f"gmpool reconstruct {dataset.name}"
        )
    if not dataset.folds:
        raise UserError(
            f"{dataset.name} has no folds to train on: it needs labels and at least 3 graphs, "
            f"got {len(dataset.graphs)} graph(s) and "
            f"{len(dataset.graphs.task_names) or 'no'} label column(s)"
        )


def settings_of(
    dataset: str, method: str, options: Mapping[str, Any]
) -> tuple[ModelConfig, TrainConfig]:
    """The published settings for a method on a set, and the user's options over them."""
    if is_kernel(method):
        _refuse_training_options(method, options)
    return configure(dataset, method, method_options(method), options, _option_types(method))


def _refuse_training_options(method: str, options: Mapping[str, Any]) -> None:
    """What a network is made of and how it is trained has no meaning for a kernel method."""
    of_networks = {f.name for cls in (ModelConfig, TrainConfig) for f in fields(cls)}
    for key in options:
        if key in of_networks:
            raise UserError(
                f"option {key} is for networks, and {method} is none: it takes "
                f"{', '.join(method_options(method))}; leave {key} out for {method}"
            )


def _option_types(method: str) -> dict[str, str]:
    """The options of a method and their types as its constructor declares them."""
    declared = inspect.get_annotations(METHODS[method].__init__)
    return {name: str(declared.get(name)) for name in method_options(method)}


def cross_validate(
    job: Job,
    store: RunStore,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    save_to: Path | None = None,
    on_failure: Callable[[RunSpec, UserError], None] | None = None,
    replicas: int | None = 1,
) -> list[Row]:
    """Do the runs that the store does not hold yet; return the rows of all, in order.

    replicas: how many runs are one program; None: as many as the memory holds. Methods that cannot
    be stacked run one at a time, and the watcher is told.
    save_to: also keep the weights of the run with the best validation score there.
    on_failure: told of a run that ended with a user's error, after which the others go on and the
    run has no row; without it the error is raised.
    """
    if is_kernel(job.model.method):
        device = "cpu"
        if save_to is not None:
            raise UserError(
                f"{job.model.method} has no weights to save: it compares new graphs with those it "
                f"was trained on; train without saving, or a pooling method such as gmt"
            )
    finished = store.finished()
    # Weights are not in the store: who wants them has the run done again, with equal result.
    to_do = [spec for spec in job.specs() if spec.key not in finished or save_to is not None]
    outcomes = _outcomes(job, to_do, device, watcher, replicas)
    rows: list[Row] = []
    kept: float = -math.inf
    for spec in job.specs():
        reused = spec.key in finished and save_to is None
        if reused:
            row = finished[spec.key]
        else:
            trained = next(outcomes)
            if isinstance(trained, UserError):
                if on_failure is None:
                    raise trained
                on_failure(spec, trained)
                continue
            row = _row(job, spec, trained, device)
            if spec.key not in finished:
                store.record(row)
            if save_to is not None and row["selection_score"] > kept:
                kept = row["selection_score"]
                assert isinstance(trained.model, Trainable)
                save_model(trained.model, save_to, about={k: row[k] for k in ABOUT})
        if watcher:
            watcher.run_finished(spec, row, reused=reused)
        rows.append(row)
    return rows


ABOUT = ("key", "dataset", "method", "seed", "fold", "metric", "test", "valid", "commit")


def _outcomes(
    job: Job, specs: list[RunSpec], device: str, watcher: Watcher | None, replicas: int | None
) -> Iterator[Trained | Fitted | UserError]:
    """The result of each run, in order: stack by stack, or one by one."""
    why = None if replicas == 1 else cannot_stack(job.dataset.graphs, job.model)
    if why and watcher and specs:
        watcher.note(f"{job.model.method} on {job.dataset.name} runs one at a time: {why}")
    if replicas == 1 or why:
        for spec in specs:
            yield _run(job, spec, device, watcher)
        return
    runs = [
        Run(job.dataset.folds[spec.fold - 1], spec.model, spec.train, spec.seed) for spec in specs
    ]
    size = replicas or (largest_stack(job.dataset.graphs, runs, device) if runs else 1)
    for start in range(0, len(specs), size):
        part = slice(start, start + size)
        on_epoch = watcher.stack_started(specs[part]) if watcher else None
        assert job.dataset.metric is not None
        yield from train_stacked(
            job.dataset.graphs,
            runs[part],
            metric=job.dataset.metric,
            device=device,
            on_epoch=on_epoch,
        )


def _run(
    job: Job, spec: RunSpec, device: str, watcher: Watcher | None
) -> Trained | Fitted | UserError:
    try:
        return _train_one(job, spec, device, watcher)
    except UserError as error:
        return error


def _train_one(job: Job, spec: RunSpec, device: str, watcher: Watcher | None) -> Trained | Fitted:
    assert job.dataset.metric is not None, "a set with folds has labels"
    graphs, split = job.dataset.graphs, job.dataset.folds[spec.fold - 1]
    on_epoch = watcher.run_started(spec) if watcher else None
    if is_kernel(job.model.method):
        return fit_kernel(graphs, split, job.model, metric=job.dataset.metric)
    return train(
        graphs,
        split,
        job.model,
        job.train,
        metric=job.dataset.metric,
        seed=spec.seed,
        device=device,
        on_epoch=on_epoch,
    )


def _row(job: Job, spec: RunSpec, trained: Trained | Fitted, device: str) -> Row:
    best = trained.best
    by_loss = spec.train.select_by == "loss" or math.isnan(best.valid_metric)
    sign = -1 if job.dataset.metric == "rmse" else 1
    assert job.dataset.metric is not None
    return {
        **run_row(spec, trained, job.dataset.metric, device),
        "selection_score": -best.valid_loss if by_loss else sign * best.valid_metric,
        "curve": curve_of(trained.curve),
    }
