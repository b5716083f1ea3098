"""A plan: lines of a table (methods with options) × sets × seeds × folds, written in TOML.

The plans that come with the package are in `gmpool/plans`. An option counts in the order
published settings < [options] < [dataset_options.NAME] < options of a line. A plan of
reconstructions has each of its lines once for every ratio and objective it names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from gmpool.config import AutoencoderConfig, ModelConfig, TrainConfig
from gmpool.data import CATALOGUE, Dataset, load
from gmpool.data.sources.generated import PAPER_GRAPHS
from gmpool.engine.cell import Cell, Line
from gmpool.engine.cross_validate import require_folds, settings_of
from gmpool.engine.plan_file import read_toml
from gmpool.errors import UserError, unknown
from gmpool.tasks.reconstruct.data import reconstruct_data
from gmpool.tasks.reconstruct.settings import reconstruct_settings

SHIPPED = Path(__file__).resolve().parents[1] / "plans"


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
    """The user's own sets, and graphs that are made on the spot, by name."""
    task: str = "classify"
    """What is done with the sets: classify or reconstruct."""

    def cells(self) -> list[Cell]:
        """Line by line. Of named sets no data are needed."""
        return [self._cell(line, dataset) for line in self.lines for dataset in self.datasets]

    def _cell(self, line: Line, dataset: str) -> Cell:
        layers = (self.options, self.dataset_options.get(dataset, {}), line.options)
        options = {key: value for layer in layers for key, value in _flat(layer).items()}
        try:
            model, train = self._settings(dataset, line.method, options)
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

    def _settings(
        self, dataset: str, method: str, options: Mapping[str, Any]
    ) -> tuple[ModelConfig | AutoencoderConfig, TrainConfig]:
        if self.task == "classify":
            return settings_of(dataset, method, options)
        one_graph = dataset in self.own and self.own[dataset].graphs.num_graphs == 1
        return reconstruct_settings(method, options, one_graph=one_graph)

    def folds_of(self, dataset: str) -> int:
        """How many folds a set has; a reconstruction has one split."""
        if self.task == "reconstruct":
            return 1
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
    task = found.get("task", "classify")
    own = {text: _own(text, path.parent, task) for text in given if text not in CATALOGUE}
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
        task=task,
    )
    _check(plan)
    return plan


def _lines(found: Mapping[str, Any]) -> tuple[Line, ...]:
    lines = [Line(method, method, {}) for method in found.get("methods", [])]
    for table in found.get("line", []):
        method = table["method"]
        lines.append(Line(table.get("label", method), method, table.get("options", {})))
    return tuple(one for line in lines for one in _varied(line, found))


def _varied(line: Line, found: Mapping[str, Any]) -> list[Line]:
    """The line once for each ratio and objective that the plan names and the line does not."""
    made = [line]
    for key, words in (("ratio", "{:.0%}"), ("objective", "min {}")):
        values = [] if key in line.options else found.get(f"{key}s", [])
        if values:
            made = [
                Line(f"{one.label} {words.format(value)}", line.method, {**one.options, key: value})
                for one in made
                for value in values
            ]
    return made


def _own(text: str, folder: Path, task: str) -> Dataset:
    """The user's data at a path; a word without any sign of a path is a misspelt name, or the
    name of a graph that is made on the spot."""
    if task == "reconstruct" and text in PAPER_GRAPHS:
        return reconstruct_data(text)
    path = folder / text
    if not (path.exists() or path.suffix or len(Path(text).parts) > 1):
        raise unknown("dataset", text, CATALOGUE)
    if task == "reconstruct":
        return reconstruct_data(str(path))
    data = load(path)
    require_folds(data)
    return data


def _check(plan: Plan) -> None:
    if not plan.datasets:
        raise UserError('the plan has no set; name some, such as datasets = ["MUTAG"]')
    if not plan.lines:
        raise UserError('the plan has no line; name some methods, such as methods = ["gmt"]')
    for name in plan.datasets if plan.task == "classify" else ():
        if name not in plan.own and not CATALOGUE[name].outputs:
            raise UserError(f"{name} has no labels to train on; leave it out of datasets")
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
