"""A plan: lines of a table (methods with options) × sets × seeds × folds, written in TOML.

The plans that come with the package are in `gmpool/plans`. An option counts in the order
published settings < [options] < [dataset_options.NAME] < options of a line. A task may let a plan
name several values of an option: then each line is there once for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from gmpool.engine.job import Job, Recorded
from gmpool.engine.own_sets import open_own
from gmpool.engine.plan_file import read_toml
from gmpool.errors import UserError, unknown
from gmpool.plain_text import shortened
from gmpool.record import Row
from gmpool.report.comparison import Cell
from gmpool.tasks.task import DEFAULT, TASKS, Asked, Task, task_of

MOST_RUNS_OF_ALL = 1_000_000
"""Of a plan."""
SHIPPED = Path(__file__).resolve().parents[1] / "plans"


@dataclass(frozen=True)
class Line:
    """One line of a table: a method with options over the published settings."""

    label: str
    """What the table calls it; the method's name where the plan says nothing."""
    method: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a TOML file describes, checked."""

    name: str
    """The stem of the file."""
    title: str
    task: Task
    datasets: tuple[str, ...]
    lines: tuple[Line, ...]
    seeds: int
    first_seed: int
    folds: int | None
    """So many of each set's folds, or all that it has; none: all."""
    dataset_options: Mapping[str, Mapping[str, Any]]
    header: Mapping[str, Any] = field(default_factory=dict)
    """Keys that mean something to the task's table alone."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For every line on every set."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """The user's own sets, which are open, by name."""
    files: tuple[Path, ...] = ()
    """The plan itself, and where its own sets lie."""

    def jobs(self) -> list[Job]:
        """Line by line. Of sets with a name no data are needed."""
        return [self._job(line, dataset) for line in self.lines for dataset in self.datasets]

    def _job(self, line: Line, dataset: str) -> Job:
        layers = (self.options, self.dataset_options.get(dataset, {}), line.options)
        try:
            task = task_of(self.task.family, line.method)
            own = self.own.get(dataset)
            card = task.card(dataset) if own is None else task.card_of(own)
            assert card is not None, "a set that is not the user's own has a name"
            flat = {k: v for layer in layers for k, v in _flat(layer, task).items()}
            most = len(card.split_digests)
            folds = None if self.folds is None else min(self.folds, most)
            job = Job.planned(task, card, line.method, flat, self.seeds, self.first_seed, folds)
        except UserError as error:
            label = shortened(repr(line.label))
            raise UserError(f"line {label} on {shortened(dataset)}: {error}") from error
        return replace(job, label=line.label, changed=bool(line.options), dataset=own)

    def part(self, datasets: list[str], methods: list[str], seeds: int | None = None) -> Plan:
        """What --dataset, --method and --seeds leave of it."""
        names = {name for line in self.lines for name in (line.label, line.method)}
        known: Mapping[str, Collection[str]] = {"dataset": self.datasets, "method": names}
        for flag, given in (("dataset", datasets), ("method", methods)):
            for name in given:
                if name not in known[flag]:
                    error = unknown(f"{flag} of the plan", name, known[flag])
                    raise UserError(f"--{flag}: {error}")
        if seeds is not None and seeds < 1:
            raise UserError(f"--seeds must be at least 1, got {seeds}")
        part = replace(
            self,
            datasets=tuple(d for d in self.datasets if d in datasets or not datasets),
            lines=tuple(x for x in self.lines if not methods or {x.label, x.method} & set(methods)),
            seeds=self.seeds if seeds is None else seeds,
        )
        _check_runs(part)
        return part

    def asked(self, recorded: Recorded, kept: Kept | None = None) -> Asked:
        """What its table is to show of the rows that are recorded."""
        cells = cells_of(self.jobs(), recorded)
        return Asked(self.name, self.title, cells, self.seeds, self.header, kept, self.own)


Kept = Callable[[Row], Callable[[], Any] | None]


def cells_of(jobs: Sequence[Job], recorded: Recorded) -> list[Cell]:
    """Jobs with what is recorded of them."""
    return [
        Cell(
            label=job.label,
            method=job.model.method,
            dataset=job.name,
            asked=len(job.runs),
            rows=recorded.of(job),
            left_out=recorded.left_out(job),
            changed=job.changed,
        )
        for job in jobs
    ]


def _flat(options: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """One spelling per option: pool.conv = "gin" is a table in TOML, and pool.K is K unless K
    alone means something else, as conv does."""
    flat = {key: value for key, value in options.items() if key != "pool"}
    pool = options.get("pool", {})
    if not isinstance(pool, Mapping):
        raise UserError(f'option pool takes a table such as pool.conv = "gin", got {pool!r}')
    for key, value in pool.items():
        flat[f"pool.{key}"] = value
    taken = {f.name for cls in (task.model_config, task.train_config) for f in fields(cls)}
    short = {key: key.removeprefix("pool.") for key in flat}
    return {key if short[key] in taken else short[key]: flat[key] for key in flat}


def shipped_plans() -> list[str]:
    """The names of the plans that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read_plan(name_or_path: str | Path, table: Mapping[str, Any] | None = None) -> Plan:
    """A shipped plan by name, or the plan in a .toml file.

    The user's own data are given by path, from the plan's folder; they are read here, because
    only they tell their name and their folds. table: how to read them, over what the plan says.
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
        plan = _plan(found, path, table or {})
        _check_runs(plan)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return plan


def _plan(found: Mapping[str, Any], path: Path, table: Mapping[str, Any]) -> Plan:
    given = found.get("datasets", [])
    _no_twins("datasets", given)
    task = TASKS[found.get("task", DEFAULT)]
    tables = found.get("table", {}), found.get("dataset_tables", {})
    own = open_own(task, given, path.parent, *tables, table)
    names = {text: own[text].name if text in own else text for text in given}
    _no_twins("datasets", list(names.values()))
    for text in found.get("dataset_options", {}):
        if text not in given:
            raise unknown("set in dataset_options", text, given)
    of_table = [key for key in task.plan_keys if key not in task.varied and key != "folds"]
    plan = Plan(
        name=path.stem,
        title=found.get("title", path.stem),
        task=task,
        datasets=tuple(names.values()),
        lines=_lines(found, task),
        seeds=found.get("seeds", 1),
        first_seed=found.get("first_seed", 42),
        folds=found.get("folds"),
        dataset_options={names[k]: v for k, v in found.get("dataset_options", {}).items()},
        header={key: found[key] for key in of_table if key in found},
        options=found.get("options", {}),
        own={data.name: data for data in own.values()},
        files=(path, *(path.parent / text for text in own)),
    )
    _check(plan)
    return plan


def _lines(found: Mapping[str, Any], task: Task) -> tuple[Line, ...]:
    lines = [Line(method, method, {}) for method in found.get("methods", [])]
    for table in found.get("line", []):
        method = table["method"]
        lines.append(Line(table.get("label", method), method, table.get("options", {})))
    return tuple(one for line in lines for one in _varied(line, found, task))


def _varied(line: Line, found: Mapping[str, Any], task: Task) -> list[Line]:
    """The line once for each value that the plan names of an option and the line does not."""
    made = [line]
    for key, (option, words) in task.varied.items():
        values = [] if option in line.options else found.get(key, [])
        if values:
            made = [
                Line(f"{one.label} {words.format(v)}", line.method, {**one.options, option: v})
                for one in made
                for v in values
            ]
    return made


def _check(plan: Plan) -> None:
    if not plan.datasets:
        raise UserError('the plan has no set; name some, such as datasets = ["MUTAG"]')
    if not plan.lines:
        raise UserError('the plan has no line; name some methods, such as methods = ["gmt"]')
    _no_twins("labels of lines", [line.label for line in plan.lines])
    most = max(len(job.card.split_digests) for job in replace(plan, folds=None).jobs())
    if plan.folds is not None and plan.folds > most:
        has = f"no set has more than {most} folds" if most > 1 else "each set has one split"
        raise UserError(f"{has}: take fewer than folds = {plan.folds}, or leave folds out")


def _check_runs(plan: Plan) -> None:
    """That each job can be made, and that there are not so many runs that the memory goes."""
    runs = sum(len(job.seeds) * len(job.folds) for job in plan.jobs())
    if runs > MOST_RUNS_OF_ALL:
        raise UserError(
            f"the plan asks for {runs:,} runs, more than the {MOST_RUNS_OF_ALL:,} that are done at "
            f"a time; take fewer seeds, or make several plans of it"
        )


def _no_twins(what: str, names: list[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise UserError(
                f"{what}: {shortened(repr(name))} is there {count} times; leave one out or name it "
                f"differently"
            )
