"""`gmpool table`"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gmpool.cli.arguments import JsonFlag
from gmpool.cli.console import say
from gmpool.cli.output import Format, Makers, format_of, save, write
from gmpool.cli.table_reconstruct import of_plan, show_reconstructions
from gmpool.engine.plan import Plan, read_plan, shipped_plans
from gmpool.engine.store import Row, RunStore
from gmpool.errors import UserError, unknown
from gmpool.report import comparison_data, grid_text, tables
from gmpool.report.comparison import Comparison, compare
from gmpool.report.comparison_page import comparison_page
from gmpool.report.latex import latex, latex_summaries
from gmpool.report.page import html
from gmpool.report.plots import critical_differences, intervals, no_diagram
from gmpool.report.summary import summarise

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
        Format | None, typer.Option("--format", help="How to print it; default terminal.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="Write to this .md, .tex, .csv, .json or .html file."),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="With a plan: write its pictures to this folder.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Show recorded runs beside the paper's numbers: all of a store, or a plan with its tests."""
    wanted = Format.json if json_ else format_ or format_of(to)
    if _is_plan(what):
        plan = _part_of(read_plan(what), dataset or [], method or [])
        if plan.task == "reconstruct":
            rows = of_plan(plan, _all_rows(store or []))
            if not rows or _missing(store or []):
                raise _nothing(what, store or [])
            show_reconstructions(rows, _open((store or [RUNS])[0]), wanted, to, plots, plan.seeds)
            return
        compared = _compared(what, plan, store or [])
        write(_of_plan(compared), lambda w: grid_text.terminal(compared, w), wanted, to)
        if plots is not None:
            _draw(compared, plots)
        return
    for flag, given in (("--store", store), ("--plots", plots)):
        if given:
            raise UserError(f"{flag} goes with a plan (gmpool list plans), and {what!r} is none")
    rows = _rows(Path(what), dataset or [], method or [])
    rebuilt = [row for row in rows if row["task"] == "reconstruct"]
    if rebuilt:
        rows = [row for row in rows if row["task"] != "reconstruct"]
        if rows and wanted is not Format.terminal:
            raise UserError(
                f"{what} holds runs of two tasks, which are no one {wanted} table; name the sets "
                f"of one with --dataset"
            )
        show_reconstructions(rebuilt, _open(Path(what)), wanted, None if rows else to)
        if not rows:
            return
    summaries = summarise(rows)
    makers = {
        Format.markdown: lambda: tables.markdown(summaries),
        Format.latex: lambda: latex_summaries(summaries),
        Format.csv: lambda: tables.as_csv(summaries),
        Format.json: lambda: tables.as_json(summaries) + "\n",
        Format.html: lambda: html(rows, command=_command()),
    }
    write(makers, lambda width: tables.terminal(summaries, width), wanted, to)


def _command() -> str:
    return shlex.join(["gmpool", *sys.argv[1:]])


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


def _rows(store: Path, datasets: list[str], methods: list[str]) -> list[Row]:
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


def _compared(what: str, plan: Plan, stores: list[Path]) -> Comparison:
    rows = _all_rows(stores)
    compared = compare(plan, rows)
    if not compared.rows or _missing(stores):
        raise _nothing(what, stores)
    return compared


def _all_rows(stores: list[Path]) -> list[Row]:
    rows: dict[str, Row] = {}
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


def _of_plan(compared: Comparison) -> Makers:
    return {
        Format.markdown: lambda: grid_text.markdown(compared),
        Format.latex: lambda: latex(compared),
        Format.csv: lambda: comparison_data.as_csv(compared),
        Format.json: lambda: comparison_data.as_json(compared) + "\n",
        Format.html: lambda: comparison_page(compared, command=_command()),
    }


def _draw(compared: Comparison, folder: Path) -> None:
    save(folder / "intervals.png", intervals(compared))
    diagram = critical_differences(compared)
    if diagram is None:
        say(no_diagram(compared))
    else:
        save(folder / "critical-difference.png", diagram)
