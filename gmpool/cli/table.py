"""`gmpool table`"""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, RenderableType

from gmpool.cli.console import out, say
from gmpool.cli.given import JsonFlag
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


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"
    html = "html"


SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".html": "html"}
RUNS = Path("runs")
Makers = Mapping[Format, Callable[[], str]]


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
    wanted = Format.json if json_ else format_ or _format_of(to)
    if _is_plan(what):
        compared = _compared(what, store or [], dataset or [], method or [])
        _write(_of_plan(compared), lambda w: grid_text.terminal(compared, w), wanted, to)
        if plots is not None:
            _draw(compared, plots)
        return
    for flag, given in (("--store", store), ("--plots", plots)):
        if given:
            raise UserError(f"{flag} goes with a plan (gmpool list plans), and {what!r} is none")
    rows = _rows(Path(what), dataset or [], method or [])
    summaries = summarise(rows)
    makers = {
        Format.markdown: lambda: tables.markdown(summaries),
        Format.latex: lambda: latex_summaries(summaries),
        Format.csv: lambda: tables.as_csv(summaries),
        Format.json: lambda: tables.as_json(summaries) + "\n",
        Format.html: lambda: html(rows, command=_command()),
    }
    _write(makers, lambda width: tables.terminal(summaries, width), wanted, to)


def _command() -> str:
    return shlex.join(["gmpool", *sys.argv[1:]])


def _format_of(to: Path | None) -> Format:
    if to is None:
        return Format.terminal
    if to.suffix not in SUFFIXES:
        raise UserError(f"--out ends in {', '.join(SUFFIXES)}, got {to}; or say --format")
    return Format(SUFFIXES[to.suffix])


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


def _compared(what: str, stores: list[Path], datasets: list[str], methods: list[str]) -> Comparison:
    plan = _part_of(read_plan(what), datasets, methods)
    missing = [store for store in stores if not store.exists()]
    rows: dict[str, Row] = {}
    for store in stores or [RUNS]:
        rows = _open(store).finished() | rows  # of a run in two stores the first counts
    compared = compare(plan, rows.values())
    if missing or not compared.rows:
        names = " and ".join(map(str, missing or stores or [RUNS]))
        first = (missing or stores or [RUNS])[0]
        command = shlex.join(["gmpool", "run", what, "--store", str(first)])
        has = "there is no run store" if missing else "no run of the plan is recorded in"
        raise UserError(f"{has} {names}; {command} records some")
    return compared


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


def _write(
    makers: Makers, terminal: Callable[[int], RenderableType], wanted: Format, to: Path | None
) -> None:
    """Print the table, or write it to a file and say so."""
    if wanted is Format.terminal and to is None:
        out.print(terminal(out.width))
        return
    if wanted is Format.terminal:
        text = io.StringIO()
        Console(file=text, width=200).print(terminal(200))
        made = text.getvalue()
    else:
        made = makers[wanted]()
    if to is None:
        print(made, end="")
        return
    _save(to, made.encode())


def _save(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path} could not be written: {error.strerror}") from error
    say(f"written: {path}")


def _draw(compared: Comparison, folder: Path) -> None:
    _save(folder / "intervals.png", intervals(compared))
    diagram = critical_differences(compared)
    if diagram is None:
        say(no_diagram(compared))
    else:
        _save(folder / "critical-difference.png", diagram)
