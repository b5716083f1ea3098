"""`gmpool list`"""

import ast
import inspect
import json
import textwrap
from dataclasses import fields, is_dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from gmpool.cli.arguments import JsonFlag
from gmpool.cli.console import out
from gmpool.data import CATALOGUE
from gmpool.engine.plan import read_plan, shipped_plans
from gmpool.tasks.task import TASKS


class Listing(StrEnum):
    datasets = "datasets"
    methods = "methods"
    options = "options"
    tasks = "tasks"
    presets = "presets"
    plans = "plans"


def listing(
    what: Annotated[Listing, typer.Argument(help=f"{', '.join(Listing)}.")], json_: JsonFlag = False
) -> None:
    """List datasets, tasks, their methods, the options of training and of models, published
    settings, or the plans that come along."""
    rows = _ROWS[what]()
    if json_:
        print(json.dumps(rows))
        return
    shown = Table(*rows[0])
    for row in rows:
        shown.add_row(*(Text(_words(value)) for value in row.values()))
    out.print(shown)


def _datasets() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "graphs": e.graphs,
            "outputs": e.outputs,
            "nodes": e.mean_nodes,
            "about": e.about,
        }
        for name, e in CATALOGUE.items()
    ]


def _methods() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "task": task.name,
            "about": task.about(name),
            "options": {key: option.default for key, option in task.options(name).items()},
        }
        for task in (TASKS[name] for name in TASKS)
        for name in task.methods()
    ]


def _options() -> list[dict[str, Any]]:
    """Those of training and of models; a method's own are listed with the methods."""
    return [
        {"task": task.name, "option": f.name, "default": f.default, "about": about.get(f.name, "")}
        for task in (TASKS[name] for name in TASKS)
        if task.has_weights
        for config in (task.train_config, task.model_config)
        for about in [_field_docs(config)]
        for f in fields(config)
        if f.name not in ("method", "pool")
    ]


def _field_docs(config: type) -> dict[str, str]:
    """What the class says below its fields, those of a parent included."""
    found: dict[str, str] = {}
    for cls in (each for each in reversed(config.__mro__) if is_dataclass(each)):
        try:
            source = inspect.getsource(cls)
        except OSError:  # of a class that another package has made on the spot
            continue
        (tree,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(tree, ast.ClassDef)
        for before, after in pairwise(tree.body):
            if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr):
                name, words = before.target, after.value
                if isinstance(name, ast.Name) and isinstance(words, ast.Constant):
                    found[name.id] = " ".join(str(words.value).split())
    return found


def _tasks() -> list[dict[str, Any]]:
    found = [TASKS[name] for name in TASKS]
    return [
        {"name": t.name, "command": t.verb or "", "about": (t.__doc__ or "").split("\n")[0]}
        for t in found
    ]


def _presets() -> list[dict[str, Any]]:
    return [
        {"task": task.name, "dataset": name, "settings": dict(values)}
        for task in (TASKS[name] for name in TASKS)
        for name, values in task.presets.items()
    ]


def _plans() -> list[dict[str, Any]]:
    return [
        {
            "name": plan.name,
            "about": plan.title,
            "lines": len(plan.lines),
            "datasets": len(plan.datasets),
            "runs": sum(len(job.runs) for job in plan.jobs()),
        }
        for plan in map(read_plan, shipped_plans())
    ]


_ROWS = {
    Listing.datasets: _datasets,
    Listing.methods: _methods,
    Listing.options: _options,
    Listing.tasks: _tasks,
    Listing.presets: _presets,
    Listing.plans: _plans,
}


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return str(value)
