"""Dataset: graphs, the splits to use with them, and the score that is reported for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch

from gmpool.data.batch import GraphBatch, Ids
from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.packed import PackedGraphs
from gmpool.data.splits import Split, stratified_folds

Metric = Literal["accuracy", "roc_auc", "rmse"]
METRICS: dict[str, Metric] = {
    "multiclass": "accuracy",
    "binary": "roc_auc",
    "regression": "rmse",
}
_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Dataset:
    """What an experiment reads: a set of graphs by its name, and its splits."""

    name: str
    graphs: PackedGraphs
    folds: tuple[Split, ...]
    """Ten for a TU set, one for a molecule table; none for unlabelled data without a split."""
    metric: Metric | None
    """None for unlabelled data."""
    skipped: tuple[str, ...] = ()
    """Rows of a table that were left out, as file:line: reason."""

    @classmethod
    def of(
        cls,
        graphs: PackedGraphs,
        folds: tuple[Split, ...] | None = None,
        skipped: tuple[str, ...] = (),
    ) -> Dataset:
        """A set with the metric of its labels, and with its own splits. Without any, labelled
        graphs get ten stratified folds (fewer where there are fewer graphs than ten)."""
        if folds is None:
            enough = graphs.y is not None and graphs.num_graphs >= 3
            folds = _stratified(graphs) if enough else ()
        metric = None if graphs.task is None else METRICS[graphs.task]
        return cls(graphs.name, graphs, folds, metric, skipped)

    def __len__(self) -> int:
        return self.graphs.num_graphs

    @property
    def digest(self) -> str:
        """Of the graphs' content; the splits have digests of their own."""
        return self.graphs.digest

    def to(self, device: torch.device | str) -> Dataset:
        """The same graphs on another device; batches are then made there."""
        return replace(self, graphs=self.graphs.to(device))

    def batches(
        self, ids: Ids, batch_size: int, generator: torch.Generator | None = None
    ) -> Iterator[GraphBatch]:
        """All graphs ``ids`` once; a generator shuffles them, without one order stays."""
        return epoch_batches(self.graphs, ids, batch_size, generator)


def _stratified(graphs: PackedGraphs) -> tuple[Split, ...]:
    assert graphs.y is not None
    return stratified_folds(graphs.y, min(_FOLDS, graphs.num_graphs))
