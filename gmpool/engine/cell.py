"""The cells of a plan's table: a line (a method with options) on a set, with seeds and folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gmpool.config import AutoencoderConfig, ModelConfig, ReconstructTrainConfig, TrainConfig
from gmpool.data import CATALOGUE, Dataset, Split
from gmpool.engine.cross_validate import Job
from gmpool.engine.reconstructions import ReconstructJob
from gmpool.engine.store import Row
from gmpool.tasks.reconstruct.data import reconstruct_split


@dataclass(frozen=True)
class Line:
    """One line of a table: a method with options over the published settings."""

    label: str
    """What the table calls it; the method's name where the plan says nothing."""
    method: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """One line on one set, with all its seeds and folds."""

    line: Line
    dataset: str
    """Its name, as recorded rows have it."""
    model: ModelConfig | AutoencoderConfig
    train: TrainConfig
    seeds: tuple[int, ...]
    folds: int
    """How many folds one seed has."""
    own: Dataset | None = None
    """The user's own data, which came with the plan; none for a set with a name."""

    @property
    def runs(self) -> int:
        return len(self.seeds) * self.folds

    @property
    def task(self) -> str:
        return "classify" if isinstance(self.model, ModelConfig) else "reconstruct"

    def job(self, dataset: Dataset) -> Job:
        """For a classification."""
        assert isinstance(self.model, ModelConfig)
        return Job(dataset, self.model, self.train, tuple(range(1, self.folds + 1)), self.seeds)

    def reconstruct_job(self, dataset: Dataset) -> ReconstructJob:
        assert isinstance(self.model, AutoencoderConfig)
        assert isinstance(self.train, ReconstructTrainConfig)
        return ReconstructJob(dataset, self.model, self.train, self.seeds)

    def recorded(self, rows: Iterable[Row]) -> list[Row]:
        """Those of the rows that are runs of this cell, one per seed and fold.

        It compares what a run's key is made of, and so needs no data on disk: the digest of the
        data is known of TU sets and of the user's own, that of the splits of the user's own.
        """
        config = {"model": asdict(self.model), "train": asdict(self.train)}
        data = self.own.graphs.digest if self.own else CATALOGUE[self.dataset].content
        splits = [split.digest for split in self._own_splits()]
        mine: dict[tuple[int, int], Row] = {}
        for row in rows:
            if (
                row["dataset"] == self.dataset
                and row["method"] == self.model.method
                and row["task"] == self.task
                and row["seed"] in self.seeds
                and row["fold"] <= self.folds
                and row["config"] == config
                and (not data or row["data_digest"] == data)
                and (not splits or row["split_digest"] == splits[row["fold"] - 1])
            ):
                mine.setdefault((row["seed"], row["fold"]), row)
        return list(mine.values())

    def _own_splits(self) -> Sequence[Split]:
        if self.own is None:
            return ()
        return self.own.folds if self.task == "classify" else (reconstruct_split(self.own),)
