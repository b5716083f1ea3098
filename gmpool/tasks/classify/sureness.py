"""How sure predictions are: calibrated by graphs that were held out, and kept with the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.tasks.classify.calibration import (
    answers,
    classes,
    deviation,
    fit_answers,
    fit_classes,
    fit_deviation,
)
from gmpool.tasks.classify.conformal import in_sets, intervals, require_enough
from gmpool.tasks.shape import DataShape

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST = 2_000
"""Held-out graphs of which intervals and sets keep something: a border rests on so many that more
would hardly move it."""


MISSING = -1.0
"""In place of the score of a label that is not there: files hold no NaN."""


class Sure(NamedTuple):
    value: Array
    """Calibrated probabilities [G, C] or [G, T], or values [G, T]."""
    std: Array
    """Of probabilities the deviation between members; of values what their error is like."""


class Sureness(nn.Module):
    """What members say of graphs becomes probabilities or values, and how sure they are.

    members: M. held_out: n, how many graphs were held out from all members (whose mean is then
    calibrated) or, `crossed`, each from one of them.
    What members say is [M, G, C] probabilities of classes, [M, G, T] of yes, or values [M, G, T].
    """

    line: Tensor
    scores: Tensor
    by: Tensor

    def __init__(self, shape: DataShape, held_out: int, *, crossed: bool) -> None:
        super().__init__()
        self.task, self.crossed = shape.task, crossed
        of_classes = shape.task == "multiclass"
        self.names = list(shape.task_names) or ["label"] * (1 if of_classes else shape.num_outputs)
        kept = min(held_out, MOST)
        line = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
        self.register_buffer("line", line.repeat(len(self.names), 1))  # (a, b) of each label
        self.register_buffer("scores", torch.full((len(self.names), kept), MISSING))
        self.register_buffer("by", torch.zeros(kept, dtype=torch.int16))

    def fit(self, said: Array, y: Array, by: Ints) -> None:
        """To held-out graphs. y [n] of classes or [n, T], NaN missing; by [n]: the member that has
        not seen the graph, 0 where none has."""
        own = self._predictors(said)[by, np.arange(len(by))]  # [n, C] or [n, T]
        there = y >= 0 if y.ndim == 1 else ~np.isnan(y)
        line = self.line.numpy()
        if self.task == "multiclass":
            line[0, 0] = fit_classes(own[there], y[there].astype(np.int64))
        for t in range(len(self.names)) if y.ndim == 2 else ():
            here = there[:, t]
            if self.task == "binary":
                line[t] = fit_answers(own[here, t], y[here, t])
            else:
                error, spread = (own - y)[here, t], said.std(0)[here, t]
                line[t] = self._deviation(error, spread)
        scores = self._held_out_scores(said, y, by)  # [T, n]
        kept = np.random.default_rng(0).permutation(len(by))[: self.scores.shape[1]]
        self.scores.copy_(torch.from_numpy(scores[:, kept]).nan_to_num(MISSING))
        self.by.copy_(torch.from_numpy(by[kept]))

    def _deviation(self, error: Array, spread: Array) -> tuple[float, float]:
        if not self.crossed:
            return fit_deviation(error, spread)
        # Members but one have seen these graphs, and differ less than they will on new ones.
        mean = float(np.mean(error**2)) if len(error) else 0.0
        return 1.0, max(mean - float(np.mean(spread**2)), mean / 4) ** 0.5

    def _held_out_scores(self, said: Array, y: Array, by: Ints) -> Array:
        """How badly each label fits what was said by who had not seen it; NaN where there is none.
        [T, n]"""
        at = by, np.arange(len(by))
        if self.task == "regression":
            value, width = self._predictors(said)[at], self._widths(said)[at]
            return np.asarray((np.abs(value - y) / width).T)
        misfit = self._misfit(said)
        if self.task == "binary":
            yes = np.where(np.isnan(y), 0, y).astype(np.int64)
            found = np.take_along_axis(misfit[at], yes[..., None], 2)[..., 0]
            return np.where(np.isnan(y), np.nan, found).T
        found = misfit[at][np.arange(len(y)), 0, y.clip(0).astype(np.int64)]
        return np.where(y < 0, np.nan, found)[None]

    def answer(self, said: Array) -> Sure:
        """What the members say together."""
        mean, spread = said.mean(0), said.std(0)
        if self.task == "regression":
            return Sure(mean, np.stack(self._each_label(deviation, spread), 1))
        return Sure(self._calibrated(mean), spread)

    def intervals(self, said: Array, coverage: float) -> tuple[Array, Array]:
        """(lower, upper) ends, [G, T] each."""
        if self.task != "regression":
            raise UserError("intervals are for labels that are numbers; classes have sets")
        self.require(coverage)
        value, width = self._predictors(said), self._widths(said)
        found = [
            intervals(value[..., t], width[..., t], *self._kept(t), coverage)
            for t in range(len(self.names))
        ]
        low, high = zip(*found, strict=True)
        return np.stack(low, 1), np.stack(high, 1)

    def sets(self, said: Array, coverage: float) -> NDArray[np.bool_]:
        """Which answers are in the set of each label: no and yes [G, T, 2], or classes [G, 1, C].
        A set may be empty: then nothing fits as well as it should."""
        if self.task == "regression":
            raise UserError("sets are for classes; labels that are numbers have intervals")
        self.require(coverage)
        misfit = self._misfit(said)
        found = [in_sets(misfit[:, :, t], *self._kept(t), coverage) for t in range(len(self.names))]
        return np.stack(found, 1)

    def require(self, coverage: float) -> None:
        """Raises for what so few held-out labels cannot promise."""
        counts = (self.scores >= 0).sum(1).cpu().numpy()
        require_enough(coverage, counts, self.names)

    def _kept(self, t: int) -> tuple[Array, Ints]:
        scores = self.scores[t].double().cpu().numpy()
        return np.where(scores < 0, np.nan, scores), self.by.cpu().numpy().astype(np.int64)

    def _predictors(self, said: Array) -> Array:
        """Who held-out graphs were predicted by: each member, or all together. [K, G, ·]"""
        return said if self.crossed else said.mean(0)[None]

    def _widths(self, said: Array) -> Array:
        """The unit of errors. [K, G, T]"""
        if self.crossed:
            return np.ones_like(said)
        return np.stack(self._each_label(deviation, said.std(0)), 1)[None]

    def _misfit(self, said: Array) -> Array:
        """How badly each answer fits. [K, G, T, 2], or of classes [K, G, 1, C]"""
        p = self._calibrated(self._predictors(said))
        if self.task == "multiclass":
            return (1 - p)[:, :, None]
        return np.stack([p, 1 - p], 3)

    def _calibrated(self, p: Array) -> Array:
        if self.task == "multiclass":
            return classes(p, float(self.line[0, 0]))
        return np.stack(self._each_label(answers, p), -1)

    def _each_label(
        self, change: Callable[[Array, float, float], Array], values: Array
    ) -> list[Array]:
        lines = self.line.tolist()
        return [change(values[..., t], a, b) for t, (a, b) in enumerate(lines)]
