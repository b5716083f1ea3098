"""`gmpool list`"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table

from gmpool.cli.arguments import JsonFlag
from gmpool.cli.console import out
from gmpool.config import AUTHORS
from gmpool.data import CATALOGUE
from gmpool.engine.plan import Plan, read_plan, shipped_plans
from gmpool.pool import METHODS, method_options, method_summary


class Listing(StrEnum):
    datasets = "datasets"
    methods = "methods"
    presets = "presets"
    plans = "plans"


def listing(
    what: Annotated[Listing, typer.Argument(help="What to list.")],
    json_: JsonFlag = False,
) -> None:
    """List datasets, pooling methods, the published settings, or the plans that come along."""
    rows: list[dict[str, Any]]
    if what is Listing.datasets:
        rows = [
            {"name": name, "graphs": e.graphs, "outputs": e.outputs, "nodes": e.mean_nodes,
             "about": e.about}
            for name, e in CATALOGUE.items()
        ]  # fmt: skip
    elif what is Listing.methods:
        rows = [
            {
                "name": name,
                "architecture": METHODS[name].architecture,
                "about": method_summary(name),
                "options": method_options(name),
            }
            for name in METHODS
        ]
    elif what is Listing.plans:
        rows = [_plan_row(read_plan(name)) for name in shipped_plans()]
    else:
        rows = [{"dataset": name, "settings": dict(values)} for name, values in AUTHORS.items()]
    if json_:
        print(json.dumps(rows))
        return
    shown = Table(*rows[0])
    for row in rows:
        shown.add_row(*(_words(value) for value in row.values()))
    out.print(shown)


def _plan_row(plan: Plan) -> dict[str, Any]:
    runs = sum(cell.runs for cell in plan.cells())
    return {
        "name": plan.name, "about": plan.title, "lines": len(plan.lines),
        "datasets": len(plan.datasets), "runs": runs,
    }  # fmt: skip


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return str(value)
