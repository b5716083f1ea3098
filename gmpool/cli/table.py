"""`gmpool table`"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gmpool.cli.arguments import JsonFlag
from gmpool.cli.output import form_of, save_pictures, write
from gmpool.cli.table_reconstruct import of_plan, show_reconstructions
from gmpool.engine.plan import Plan, read_plan, shipped_plans
from gmpool.engine.store import Row as JsonRow
from gmpool.engine.store import RunStore
from gmpool.errors import UserError, unknown
from gmpool.record import Row
from gmpool.report.comparison import Cell, compare
from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Grid
from gmpool.report.recorded import rows_of_cells
from gmpool.report.summary import summarise, summary_grid, summary_title

RUNS = Path("runs")


def table(
    what: Annotated[
        str,
        typer.Argument(
            help="A plan's name (gmpool list plans) or .toml file, a run store, or a file of rows."
        ),
    ] = str(RUNS),
    store: Annotated[
        list[Path] | None,
        typer.Option(help="With a plan: a run store or file of rows; may be repeated."),
    ] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="Only these sets.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only these methods, or lines of a plan.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", help="terminal, markdown, latex, csv, json or html; default terminal."
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Write to this .md, .tex, .csv, .json, .html or .txt file."),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="With a plan: write its pictures to this folder.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Show recorded runs beside the paper's numbers: all of a store, or a plan with its tests."""
    wanted = form_of(to, "json" if json_ else format_)
    if _is_plan(what):
        plan = _part_of(read_plan(what), dataset or [], method or [])
        if plan.task == "reconstruct":
            rows = of_plan(plan, _all_rows(store or []))
            if not rows or _missing(store or []):
                raise _nothing(what, store or [])
            show_reconstructions(rows, _open((store or [RUNS])[0]), wanted, to, plots, plan.seeds)
            return
        grid = _compared(what, plan, store or [])
        write([grid], wanted, to)
        if plots is not None:
            save_pictures(grid.pictures, plots)
        return
    for flag, given in (("--store", store), ("--plots", plots)):
        if given:
            raise UserError(f"{flag} goes with a plan (gmpool list plans), and {what!r} is none")
    rows = _rows(Path(what), dataset or [], method or [])
    rebuilt = [row for row in rows if row["task"] == "reconstruct"]
    if rebuilt:
        rows = [row for row in rows if row["task"] != "reconstruct"]
        if rows and wanted != "terminal":
            raise UserError(
                f"{what} holds runs of two tasks, which are no one {wanted} table; name the sets "
                f"of one with --dataset"
            )
        show_reconstructions(rebuilt, _open(Path(what)), wanted, None if rows else to)
        if not rows:
            return
    summaries = summarise(typed(rows))
    write([summary_grid(summaries)], wanted, to, title=summary_title(summaries))


def typed(rows: Iterable[JsonRow]) -> list[Row]:
    made = []
    for row in rows:
        try:
            made.append(Row.from_json(row))
        except ValueError as error:
            raise UserError(f"the row {row['key']} cannot be read: {error}") from error
    return made


def _is_plan(what: str) -> bool:
    """A folder or a file of rows comes before a plan of the same name."""
    path = Path(what)
    if path.suffix == ".toml":
        return True
    if path.is_file() or RunStore(path).path.exists():
        return False
    if what in shipped_plans():
        return True
    if path.exists() or path == RUNS:
        return False
    raise unknown("plan or run store", what, shipped_plans())


def _open(store: Path) -> RunStore:
    return RunStore(store.parent, store.name) if store.is_file() else RunStore(store)


def _rows(store: Path, datasets: list[str], methods: list[str]) -> list[JsonRow]:
    runs = _open(store)
    rows = [
        row
        for row in runs.finished().values()
        if (not datasets or row["dataset"] in datasets)
        and (not methods or row["method"] in methods)
    ]
    if not rows:
        raise UserError(f"{runs.path} holds no rows that match; gmpool train records some")
    return rows


def _compared(what: str, plan: Plan, stores: list[Path]) -> Grid:
    cells = plan.cells()
    found = rows_of_cells(cells, typed(_all_rows(stores)))
    if not any(recorded.rows for recorded in found) or _missing(stores):
        raise _nothing(what, stores)
    return comparison_grid(
        compare(
            [
                Cell(
                    cell.line.label,
                    cell.line.method,
                    cell.dataset,
                    cell.runs,
                    recorded.rows,
                    recorded.left_out,
                    bool(cell.line.options),
                )
                for cell, recorded in zip(cells, found, strict=True)
            ],
            name=plan.name,
            title=plan.title,
            part=plan.part,
            paper=plan.paper,
        )
    )


def _all_rows(stores: list[Path]) -> list[JsonRow]:
    rows: dict[str, JsonRow] = {}
    for store in stores or [RUNS]:
        rows = _open(store).finished() | rows  # of a run in two stores the first counts
    return list(rows.values())


def _missing(stores: list[Path]) -> list[Path]:
    return [store for store in stores if not store.exists()]


def _nothing(what: str, stores: list[Path]) -> UserError:
    """What to tell who asks for a plan of which nothing is recorded."""
    missing = _missing(stores)
    asked = missing or stores or [RUNS]
    command = shlex.join(["gmpool", "run", what, "--store", str(asked[0])])
    has = "there is no run store" if missing else "no run of the plan is recorded in"
    return UserError(f"{has} {' and '.join(map(str, asked))}; {command} records some")


def _part_of(plan: Plan, datasets: list[str], methods: list[str]) -> Plan:
    """What --dataset and --method leave of a plan."""
    names = {name for line in plan.lines for name in (line.label, line.method)}
    for flag, given, known in (("dataset", datasets, plan.datasets), ("method", methods, names)):
        for name in given:
            if name not in known:
                raise UserError(f"--{flag}: {unknown(f'{flag} of the plan', name, known)}")
    return replace(
        plan,
        datasets=tuple(d for d in plan.datasets if d in datasets or not datasets),
        lines=tuple(x for x in plan.lines if not methods or {x.label, x.method} & set(methods)),
    )
