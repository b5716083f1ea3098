"""A plan: lines of a table (methods with options) × sets × seeds × folds, written in TOML.

The plans that come with the package are in `gmpool/plans`. An option counts in the order
published settings < [options] < [dataset_options.NAME] < options of a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import CATALOGUE, Dataset, load
from gmpool.engine.cross_validate import Job, require_folds, settings_of
from gmpool.engine.plan_file import read_toml
from gmpool.engine.store import Row
from gmpool.errors import UserError, unknown

SHIPPED = Path(__file__).resolve().parents[1] / "plans"


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
    model: ModelConfig
    train: TrainConfig
    seeds: tuple[int, ...]
    folds: int
    """How many folds one seed has."""
    own: Dataset | None = None
    """The user's own data, which came with the plan; none for a set with a name."""

    @property
    def runs(self) -> int:
        return len(self.seeds) * self.folds

    def job(self, dataset: Dataset) -> Job:
        return Job(dataset, self.model, self.train, tuple(range(1, self.folds + 1)), self.seeds)

    def recorded(self, rows: Iterable[Row]) -> list[Row]:
        """Those of the rows that are runs of this cell, one per seed and fold.

        It compares what a run's key is made of, and so needs no data on disk: the digest of the
        data is known of TU sets and of the user's own, that of the splits of the user's own.
        """
        config = {"model": asdict(self.model), "train": asdict(self.train)}
        data = self.own.graphs.digest if self.own else CATALOGUE[self.dataset].content
        splits = [split.digest for split in self.own.folds] if self.own else []
        mine: dict[tuple[int, int], Row] = {}
        for row in rows:
            if (
                row["dataset"] == self.dataset
                and row["method"] == self.model.method
                and row["task"] == "classify"
                and row["seed"] in self.seeds
                and row["fold"] <= self.folds
                and row["config"] == config
                and (not data or row["data_digest"] == data)
                and (not splits or row["split_digest"] == splits[row["fold"] - 1])
            ):
                mine.setdefault((row["seed"], row["fold"]), row)
        return list(mine.values())


@dataclass(frozen=True)
class Plan:
    """What a TOML file describes, checked."""

    name: str
    """The stem of the file."""
    title: str
    datasets: tuple[str, ...]
    lines: tuple[Line, ...]
    seeds: int
    first_seed: int
    folds: int | None
    """So many of each set's folds, or all that it has; none: all."""
    dataset_options: Mapping[str, Mapping[str, Any]]
    paper: str | None
    """Which of the paper's tables stands beside: test, valid, ablation or leaderboard."""
    part: str
    """Which score the table shows: test or valid."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For every line on every set."""
    own: Mapping[str, Dataset] = field(default_factory=dict)
    """The user's own sets, by name."""

    def cells(self) -> list[Cell]:
        """Line by line. Of named sets no data are needed."""
        return [self._cell(line, dataset) for line in self.lines for dataset in self.datasets]

    def _cell(self, line: Line, dataset: str) -> Cell:
        layers = (self.options, self.dataset_options.get(dataset, {}), line.options)
        options = {key: value for layer in layers for key, value in _flat(layer).items()}
        try:
            model, train = settings_of(dataset, line.method, options)
        except UserError as error:
            raise UserError(f"line {line.label!r} on {dataset}: {error}") from error
        has = self.folds_of(dataset)
        return Cell(
            line=line,
            dataset=dataset,
            model=model,
            train=train,
            seeds=tuple(range(self.first_seed, self.first_seed + self.seeds)),
            folds=has if self.folds is None else min(self.folds, has),
            own=self.own.get(dataset),
        )

    def folds_of(self, dataset: str) -> int:
        """How many folds a set has."""
        if dataset in self.own:
            return len(self.own[dataset].folds)
        return 10 if CATALOGUE[dataset].kind == "tu" else 1


_NOT_OF_METHODS = {f.name for cls in (ModelConfig, TrainConfig) for f in fields(cls)}


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """One spelling per option: pool.conv = "gin" is a table in TOML, and pool.K is K unless K
    alone means something else, as conv does."""
    flat = {key: value for key, value in options.items() if key != "pool"}
    pool = options.get("pool", {})
    if not isinstance(pool, Mapping):
        raise UserError(f'option pool takes a table such as pool.conv = "gin", got {pool!r}')
    for key, value in pool.items():
        flat[f"pool.{key}"] = value
    short = {key: key.removeprefix("pool.") for key in flat}
    return {key if short[key] in _NOT_OF_METHODS else short[key]: flat[key] for key in flat}


def shipped_plans() -> list[str]:
    """The names of the plans that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read_plan(name_or_path: str | Path) -> Plan:
    """A shipped plan by name, or the plan in a .toml file.

    The user's own data are given by path, from the plan's folder; they are read here, because
    only they tell their name and their folds.
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        if str(name_or_path) not in shipped_plans():
            raise UserError(
                f"{unknown('plan', str(name_or_path), shipped_plans())}; a plan of your own is "
                f"given as a path that ends in .toml"
            )
        path = SHIPPED / f"{name_or_path}.toml"
    found = read_toml(path)
    try:
        plan = _plan(found, path)
        plan.cells()
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return plan


def _plan(found: Mapping[str, Any], path: Path) -> Plan:
    given = found.get("datasets", [])
    _no_twins("datasets", given)
    own = {text: _own(text, path.parent) for text in given if text not in CATALOGUE}
    names = {text: own[text].name if text in own else text for text in given}
    _no_twins("datasets", list(names.values()))
    for text in found.get("dataset_options", {}):
        if text not in given:
            raise unknown("set in dataset_options", text, given)
    plan = Plan(
        name=path.stem,
        title=found.get("title", path.stem),
        datasets=tuple(names.values()),
        lines=_lines(found),
        seeds=found.get("seeds", 1),
        first_seed=found.get("first_seed", 42),
        folds=found.get("folds"),
        dataset_options={names[k]: v for k, v in found.get("dataset_options", {}).items()},
        paper=found.get("paper"),
        part=found.get("part", "test"),
        options=found.get("options", {}),
        own={data.name: data for data in own.values()},
    )
    _check(plan)
    return plan


def _lines(found: Mapping[str, Any]) -> tuple[Line, ...]:
    lines = [Line(method, method, {}) for method in found.get("methods", [])]
    for table in found.get("line", []):
        method = table["method"]
        lines.append(Line(table.get("label", method), method, table.get("options", {})))
    return tuple(lines)


def _own(text: str, folder: Path) -> Dataset:
    """The user's data at a path; a word without any sign of a path is a misspelt name."""
    path = folder / text
    if not (path.exists() or path.suffix or len(Path(text).parts) > 1):
        raise unknown("dataset", text, CATALOGUE)
    data = load(path)
    require_folds(data)
    return data


def _check(plan: Plan) -> None:
    if not plan.datasets:
        raise UserError('the plan has no set; name some, such as datasets = ["MUTAG"]')
    if not plan.lines:
        raise UserError('the plan has no line; name some methods, such as methods = ["gmt"]')
    _no_twins("labels of lines", [line.label for line in plan.lines])
    most = max(plan.folds_of(name) for name in plan.datasets)
    if plan.folds is not None and plan.folds > most:
        raise UserError(f"folds must lie in 1 … {most}, which the sets have, got {plan.folds}")


def _no_twins(what: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise UserError(
                f"{what}: {name!r} is there {count} times; leave one out or name it differently"
            )
