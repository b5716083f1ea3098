"""One training of a kernel method: its choices are made on the validation part."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from gmpool.config import ModelConfig
from gmpool.data import PackedGraphs, Split
from gmpool.engine.train import Epoch
from gmpool.errors import UserError
from gmpool.graph.colours import colour_counts
from gmpool.pool import METHODS
from gmpool.tasks.kernel.svm import C_GRID, Machine
from gmpool.tasks.metrics import metric_of
from gmpool.tasks.shape import DataShape

MAX_GRAPHS = 20_000  # a kernel matrix of so many is 3 GB


@dataclass
class Fitted:
    """A finished training, with the fields of `Trained`: no epochs, so the curve is empty."""

    model: Machine
    best: Epoch
    test_metric: float
    seconds: float
    iterations: int
    """The number of refinements that was chosen; the chosen C is the model's."""
    curve: list[Epoch] = field(default_factory=list)
    replicas: int = 1


def is_kernel(method: str) -> bool:
    """Whether a method is trained here and not as a network."""
    return bool(METHODS[method].architecture == "kernel")


def fit_kernel(graphs: PackedGraphs, split: Split, config: ModelConfig, *, metric: str) -> Fitted:
    """Fit a machine for every choice on the training part, and test the one that is best on the
    validation part; of equal ones the first: the fewest iterations, the smallest C.

    Nothing is drawn at random. Everything happens on the CPU.
    """
    start = time.perf_counter()
    parts = {name: getattr(split, name).cpu().numpy() for name in ("train", "valid", "test")}
    _check(graphs, parts, config.method)
    shape, method = DataShape.of(graphs), METHODS[config.method](**config.pool)
    assert graphs.y is not None
    y = graphs.y.cpu()
    rows = np.concatenate(list(parts.values()))
    train, until = len(parts["train"]), len(rows) - len(parts["test"])
    best: Fitted | None = None
    counts = _counts(graphs, method.iterations)
    for iterations, kernel in enumerate(method.kernels(counts, rows, parts["train"])):
        for C in C_GRID:
            machine = Machine(shape.task, shape.num_outputs, C)
            machine.fit(kernel[:train], y[parts["train"]].numpy())
            score, loss = _scores(machine, kernel[train:until], y[parts["valid"]], metric)
            if best is None or loss < best.best.valid_loss:
                test, _ = _scores(machine, kernel[until:], y[parts["test"]], metric)
                best = Fitted(machine, Epoch(0, math.nan, loss, score), test, 0.0, iterations)
    assert best is not None
    best.seconds = time.perf_counter() - start
    return best


@lru_cache(maxsize=1)  # folds of one set come one after the other
def _counts(graphs: PackedGraphs, iterations: int) -> list[Any]:
    return colour_counts(graphs, iterations)


def _scores(
    machine: Machine, kernel: np.ndarray, y: torch.Tensor, metric: str
) -> tuple[float, float]:
    """The metric, and how far it is from perfect, which stands for a loss: 1 where it is NaN."""
    score = metric_of(metric, torch.from_numpy(machine.outputs(kernel)), y)
    if math.isnan(score):
        return score, 1.0
    return score, score if metric == "rmse" else 1 - score / 100


def _check(graphs: PackedGraphs, parts: dict[str, np.ndarray], method: str) -> None:
    for name, ids in parts.items():
        if not len(ids):
            raise UserError(f"the {name} part of the split of {graphs.name} is empty")
    total = sum(map(len, parts.values()))
    if total > MAX_GRAPHS:
        raise UserError(
            f"{method} compares all pairs of graphs, and {graphs.name} has {total}: a matrix of "
            f"{8 * total * len(parts['train']) / 1e9:.0f} GB. It takes up to {MAX_GRAPHS} graphs; "
            f"use a pooling method, such as --method gmt, or a part of the set"
        )
