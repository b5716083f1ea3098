"""`gmpool table` and `gmpool list`"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gmpool.cli.console import out
from gmpool.cli.given import JsonFlag
from gmpool.config import AUTHORS
from gmpool.data import CATALOGUE
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_options, method_summary
from gmpool.report.summary import summarise
from gmpool.report.tables import as_csv, as_json, markdown, terminal


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"
    json = "json"


def table(
    store: Annotated[Path, typer.Argument(help="A run store, or a file of rows.")] = Path("runs"),
    dataset: Annotated[list[str] | None, typer.Option(help="Only these sets.")] = None,
    method: Annotated[list[str] | None, typer.Option(help="Only these methods.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.terminal,
    json_: JsonFlag = False,
) -> None:
    """Show recorded runs beside the paper's numbers."""
    runs = RunStore(store.parent, store.name) if store.is_file() else RunStore(store)
    rows = [
        row
        for row in runs.finished().values()
        if (not dataset or row["dataset"] in dataset) and (not method or row["method"] in method)
    ]
    if not rows:
        raise UserError(f"{runs.path} holds no rows that match; gmpool train records some")
    summaries = summarise(rows)
    if json_ or format_ is Format.json:
        print(as_json(summaries))
    elif format_ is Format.terminal:
        out.print(terminal(summaries, out.width))
    else:
        print({"markdown": markdown, "csv": as_csv}[format_](summaries), end="")


class Listing(StrEnum):
    datasets = "datasets"
    methods = "methods"
    presets = "presets"


def listing(
    what: Annotated[Listing, typer.Argument(help="What to list.")],
    json_: JsonFlag = False,
) -> None:
    """List datasets, pooling methods, or the published settings."""
    rows: list[dict[str, Any]]
    if what is Listing.datasets:
        rows = [
            {"name": name, "graphs": e.graphs, "outputs": e.outputs, "nodes": e.mean_nodes,
             "about": e.about}
            for name, e in CATALOGUE.items()
        ]  # fmt: skip
    elif what is Listing.methods:
        rows = [
            {"name": name, "about": method_summary(name), "options": method_options(name)}
            for name in METHODS
        ]
    else:
        rows = [{"dataset": name, "settings": dict(values)} for name, values in AUTHORS.items()]
    if json_:
        print(json.dumps(rows))
        return
    shown = Table(*rows[0])
    for row in rows:
        shown.add_row(*(_words(value) for value in row.values()))
    out.print(shown)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}={v}" for k, v in value.items())
    return str(value)
