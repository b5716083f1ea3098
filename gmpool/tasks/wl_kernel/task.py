"""The subtree kernel as a task: classification by a classical method."""

import inspect
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch

from gmpool.config import TrainConfig
from gmpool.data import Card, Dataset, PackedGraphs, Split
from gmpool.errors import UserError
from gmpool.graph.colours import colour_counts
from gmpool.report.metrics import METRICS
from gmpool.tasks.classify.own_rows import row_says
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.classify.task import Classify
from gmpool.tasks.graph_task import keyword_options
from gmpool.tasks.metrics import metric_of
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS, Fitted
from gmpool.tasks.trainable import Rows
from gmpool.tasks.wl_kernel.svm import C_GRID, NAME, Machine, WLSubtreeSVM

MAX_GRAPHS = 20_000  # a kernel matrix of so many is 3 GB


class WLKernel(Classify):
    """Stands beside the networks of classification, with their data, splits and tables."""

    name = "wl-kernel"
    verb = None
    has_weights = False

    def methods(self) -> Sequence[str]:
        return [NAME]

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return keyword_options(WLSubtreeSVM)

    def about(self, method: str) -> str:
        return (WLSubtreeSVM.__doc__ or "").splitlines()[0]

    presets: ClassVar[Mapping[str, Any]] = {}

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[ModelConfig, TrainConfig]:
        of_networks = {f.name for cls in (ModelConfig, TrainConfig) for f in fields(cls)}
        for key in options:
            if key in of_networks:
                raise UserError(
                    f"option {key} is for networks, and {method} is none: it takes "
                    f"{', '.join(self.options(method))}; leave {key} out for {method}"
                )
        return super().settings(card, method, options)

    def fit(self, dataset: Dataset, split: Split, model: ModelConfig) -> Fitted:
        metric = self.metric(dataset, model)
        return fit_kernel(dataset.graphs, split, WLSubtreeSVM(**model.pool), metric=metric)

    def scores(
        self, model: Any, dataset: Dataset, outputs: Mapping[str, Rows], split: Split
    ) -> dict[str, Any]:
        return row_says(dataset, split, outputs, ranked=model.task != "multiclass")

    def cannot_stack(self, dataset: Dataset, model: ModelConfig) -> str:
        return f"{model.method} is no network"


def fit_kernel(graphs: PackedGraphs, split: Split, method: WLSubtreeSVM, *, metric: str) -> Fitted:
    """Fit a machine for every choice on the training part, and test the one that is best on the
    validation part; of equal ones the first: the fewest iterations, the smallest C.

    Nothing is drawn at random. Everything happens on the CPU.
    """
    start = time.perf_counter()
    parts = {name: getattr(split, name).cpu().numpy() for name in ("train", "valid", "test")}
    _check(graphs, parts)
    shape = DataShape.of(graphs)
    assert graphs.y is not None
    y = graphs.y.cpu()
    rows = np.concatenate(list(parts.values()))
    train, until = len(parts["train"]), len(rows) - len(parts["test"])
    best: tuple[Machine, float, float, float] | None = None
    counts = _counts(graphs, method.iterations)
    for iterations, kernel in enumerate(method.kernels(counts, rows, parts["train"])):
        for C in C_GRID:
            machine = Machine(shape.task, shape.num_outputs, C, iterations)
            machine.fit(kernel[:train], y[parts["train"]].numpy())
            valid = torch.from_numpy(machine.outputs(kernel[train:until])), y[parts["valid"]]
            score, loss = _scores(machine, *valid, metric)
            if best is None or loss < best[1]:
                outputs, tested = {"valid": valid}, math.nan
                if len(parts["test"]):
                    test = torch.from_numpy(machine.outputs(kernel[until:])), y[parts["test"]]
                    outputs["test"], tested = test, _scores(machine, *test, metric)[0]
                best = machine, loss, score, tested
    assert best is not None
    return Fitted(*best, time.perf_counter() - start, outputs)


_counts = lru_cache(maxsize=1)(colour_counts)  # folds of one set come one after the other


def _scores(
    machine: Machine, out: torch.Tensor, y: torch.Tensor, metric: str
) -> tuple[float, float]:
    """The metric, and how far it is from perfect, which stands for a loss: 1 where it is NaN."""
    if metric == "nrmse":
        unit = torch.tensor([part.std for part in machine.parts])
        out, y = out / unit, y / unit
    score = metric_of(metric, out, y)
    if math.isnan(score):
        return score, 1.0
    return score, 1 - score / 100 if METRICS[metric].higher else score


def _check(graphs: PackedGraphs, parts: dict[str, np.ndarray]) -> None:
    for name in ("train", "valid"):
        if not len(parts[name]):
            raise UserError(f"the {name} part of the split of {graphs.name} is empty")
    total = sum(map(len, parts.values()))
    if total > MAX_GRAPHS:
        raise UserError(
            f"{NAME} compares all pairs of graphs, and {graphs.name} has {total}: a matrix of "
            f"{8 * total * len(parts['train']) / 1e9:.0f} GB. It takes up to {MAX_GRAPHS} graphs; "
            f"use a pooling method, such as --method gmt, or a part of the set"
        )


TASKS.register(WLKernel.name)(WLKernel())
