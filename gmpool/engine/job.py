"""A job: one method with its settings on one set, with all its seeds and folds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from gmpool.config import TrainConfig
from gmpool.data import Card, Split
from gmpool.errors import UserError
from gmpool.identity import Settings, run_key, settings_of
from gmpool.record import Row
from gmpool.tasks.task import Task, task_of

MOST_RUNS = 100_000
"""Of a job: more would fill the memory before the first is done."""
SEEDS_END = 2**63
"""Generators of random numbers take less."""


class Run(NamedTuple):
    """One training of a job: a pure function of these and of the job's settings."""

    seed: int
    fold: int
    key: str


@dataclass(frozen=True, eq=False)
class Job:
    """label: what a table calls it. card: what is known of the set; dataset: the set itself, where
    it is open. folds: numbers from 1. own: whether the set came with the plan and has no name."""

    task: Task
    card: Card
    model: Any
    train: TrainConfig
    seeds: tuple[int, ...]
    folds: tuple[int, ...]
    label: str = ""
    changed: bool = False
    """Whether it has options of its own, so that it is not what the paper measured."""
    dataset: Any = None

    @classmethod
    def make(
        cls,
        family: str,
        dataset: Any,
        method: str,
        *,
        seeds: int = 1,
        first_seed: int = 42,
        folds: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Job:
        """A job on a set that is open. folds: so many of those that it has; None: all."""
        task = task_of(family, method)
        card = task.card_of(dataset)
        job = cls.planned(task, card, method, options or {}, seeds, first_seed, folds)
        return replace(job, dataset=dataset)

    @classmethod
    def planned(
        cls,
        task: Task,
        card: Card,
        method: str,
        options: Mapping[str, Any],
        seeds: int,
        first_seed: int,
        folds: int | None,
    ) -> Job:
        """A job on a set of which the card is enough."""
        most = len(card.split_digests)
        _check_counts(card.name, most, folds, seeds, first_seed)
        model, train = task.settings(card, method, options)
        numbers = tuple(range(first_seed, first_seed + seeds))
        wanted = tuple(range(1, (most if folds is None else folds) + 1))
        return cls(task, card, model, train, numbers, wanted, task.label(model), bool(options))

    @property
    def name(self) -> str:
        """Of the set."""
        return self.card.name

    @property
    def is_joined(self) -> bool:
        """Whether each of its runs is joined of several trainings."""
        return self.task.is_joined(self.model)

    @property
    def config(self) -> dict[str, Any]:
        """As rows have it."""
        return {"model": asdict(self.model), "train": asdict(self.train)}

    @cached_property
    def settings(self) -> Settings:
        return settings_by(self.task, self.config)

    @cached_property
    def runs(self) -> list[Run]:
        """Every run, seed by seed so that a first seed is complete early."""
        return [
            Run(seed, fold, self._key(seed, self.card.split_digests[fold - 1]))
            for seed in self.seeds
            for fold in self.folds
        ]

    def _key(self, seed: int, split_digest: str) -> str:
        return run_key(
            task=self.task.family,
            data_digest=self.card.digest,
            split_digest=split_digest,
            seed=seed,
            settings=self.settings,
        )

    @cached_property
    def splits(self) -> Sequence[Split]:
        return self.task.splits(self.dataset)

    def split(self, run: Run) -> Split:
        return self.splits[run.fold - 1]


def _check_counts(name: str, most: int, folds: int | None, seeds: int, first_seed: int) -> None:
    """Before a run is made of each. most: the folds that the set has."""
    if folds is not None and not 1 <= folds <= most:
        if most == 1:
            raise UserError(f"{name} has one split, not folds: leave folds out, got {folds}")
        raise UserError(f"{name} has {most} folds, so folds must be from 1 to {most}, got {folds}")
    if seeds < 1:
        raise UserError(f"seeds must be at least 1, got {seeds}")
    if first_seed < 0 or first_seed + seeds > SEEDS_END:
        raise UserError(
            f"seeds lie in 0 … 2^63 - 1, got {seeds:,} from {first_seed} on; take a smaller first "
            f"seed, not below 0"
        )
    runs = seeds * (folds or most)
    if runs > MOST_RUNS:
        raise UserError(
            f"{seeds:,} seeds are {runs:,} runs of one method on {name}, more than the "
            f"{MOST_RUNS:,} that are done at a time; take fewer, and then others by the first seed"
        )


def settings_by(task: Task, config: Mapping[str, Mapping[str, Any]]) -> Settings:
    """What is not the task's default in a configuration as rows have it."""
    method = config["model"]["method"]
    model, train = task.model_config(method=method), task.train_config()
    defaults = {"model": asdict(model), "train": asdict(train)}
    options = {name: option.default for name, option in task.options(method).items()}
    return settings_of(config, defaults, options)


def key_of(row: Row) -> str:
    """The key that the run of a row has."""
    return run_key(
        task=row.task,
        data_digest=row.data_digest,
        split_digest=row.split_digest,
        seed=row.seed,
        settings=settings_by(task_of(row.task, row.method), row.config),
    )


class Recorded:
    """The rows of one or more stores, by run and by settings."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.by_key: dict[str, Row] = {}
        self._by_method: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            if row.key not in self.by_key:
                self.by_key[row.key] = row
                self._by_method[row.task, row.method].append(row)

    def of(self, job: Job) -> list[Row]:
        """Those that are runs of the job."""
        return [self.by_key[run.key] for run in job.runs if run.key in self.by_key]

    def left_out(self, job: Job) -> int:
        """How many have the settings of a job, but are on other data or splits of the same name."""
        asked = {(run.seed, run.fold) for run in job.runs}
        keys = {run.key for run in job.runs}
        return sum(
            row.dataset == job.name
            and (row.seed, row.fold) in asked
            and row.key not in keys
            and settings_by(job.task, row.config) == job.settings
            for row in self.of_method(job)
        )

    def of_method(self, job: Job) -> list[Row]:
        """With the method of a job, on whatever set and with whatever settings."""
        return self._by_method[job.task.family, job.model.method]
