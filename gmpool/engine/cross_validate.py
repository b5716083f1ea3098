"""Folds × seeds of one method on one set, through the run store."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gmpool.config import ModelConfig, RunSpec, TrainConfig, configure
from gmpool.data import Dataset, Split
from gmpool.engine.checkpoint import save_model
from gmpool.engine.jobs import Watcher, run_jobs, train_run
from gmpool.engine.rows import curve_of, run_row
from gmpool.engine.store import Row, RunStore
from gmpool.engine.train import Epoch, Trained
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_options
from gmpool.tasks.kernel.fit import Fitted, fit_kernel, is_kernel
from gmpool.tasks.trainable import Trainable


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

    @property
    def metric(self) -> str:
        assert self.dataset.metric is not None, "a set with folds has labels"
        return self.dataset.metric

    def split_of(self, spec: RunSpec) -> Split:
        return self.dataset.folds[spec.fold - 1]

    def train_alone(
        self, spec: RunSpec, device: str, on_epoch: Callable[[Epoch], None] | None
    ) -> Trained | Fitted:
        if not is_kernel(self.model.method):
            return train_run(self, spec, device, on_epoch)
        split = self.split_of(spec)
        return fit_kernel(self.dataset.graphs, split, self.model, metric=self.metric)

    def row(self, spec: RunSpec, trained: Trained | Fitted, device: str) -> Row:
        best = trained.best
        by_loss = spec.train.select_by == "loss" or math.isnan(best.valid_metric)
        sign = -1 if self.metric == "rmse" else 1
        # A kernel method is computed on the CPU, whatever was asked.
        used = "cpu" if is_kernel(self.model.method) else device
        return {
            **run_row(spec, trained, self.metric, used),
            "selection_score": -best.valid_loss if by_loss else sign * best.valid_metric,
            "curve": curve_of(trained.curve),
        }


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
    replicas: int | None = 1,
    workers: int = 1,
) -> list[Row]:
    """Do the runs that the store does not hold yet (`run_jobs`); the rows of all, in order.

    save_to: also keep the weights of the run with the best validation score there. Weights are not
    in the store: recorded runs are done again for it.
    """
    how: dict[str, Any] = {
        "device": device, "watcher": watcher, "replicas": replicas, "workers": workers
    }  # fmt: skip
    if save_to is None:
        return run_jobs([job], store, **how)
    if is_kernel(job.model.method):
        raise UserError(
            f"{job.model.method} has no weights to save: it compares new graphs with those it "
            f"was trained on; train without saving, or a pooling method such as gmt"
        )
    kept = -math.inf

    def keep_the_best(_: Job, __: RunSpec, trained: Trained | Fitted, row: Row) -> None:
        nonlocal kept
        if row["selection_score"] > kept:
            kept = row["selection_score"]
            assert isinstance(trained.model, Trainable)
            save_model(trained.model, save_to, about={k: row[k] for k in ABOUT})

    return run_jobs([job], store, again=lambda _: True, on_trained=keep_the_best, **how)


ABOUT = ("key", "dataset", "method", "seed", "fold", "metric", "test", "valid", "commit")
