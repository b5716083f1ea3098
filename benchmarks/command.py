"""`gmpool bench`: the command line gets it from here, where a checkout has it."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.table import Table

from benchmarks.efficiency_figure import efficiency_figure, recorded_figure
from gmpool.atomic_files import write_atomically
from gmpool.cli.arguments import DataRoot, JsonFlag
from gmpool.cli.console import out
from gmpool.engine.provenance import commit, device_name, precision, source_digest, versions
from gmpool.errors import UserError, unknown

WITH_A_PICTURE = "efficiency"
FOLDER = Path(__file__).parent


def bench(
    name: Annotated[
        str, typer.Argument(help="What to measure: the name of a module in the folder benchmarks.")
    ],
    data: DataRoot = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Append the rows, with device and versions, to this .jsonl file."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="efficiency: draw the rows into this .png file.")
    ] = None,
    recorded: Annotated[
        list[Path] | None,
        typer.Option(help="With --plot: draw the rows of this file and measure nothing; repeat."),
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Measure ours beside the usual way, in one run."""
    if (plot or recorded) and name != WITH_A_PICTURE:
        raise UserError(f"--plot and --recorded are for {WITH_A_PICTURE}: {name} has no picture")
    if recorded:
        if plot is None or record is not None or json_:
            raise UserError("--recorded goes with --plot alone: there is nothing to measure")
        _draw(plot, recorded=recorded)
        return
    measure, origin = _benchmark(name), {"bench": name, **_origin()}
    rows = []
    shown = Table("name", "ours", "peer", "ratio", "unit")
    # A person sees the table grow; without a thread that draws while something is measured.
    live = Live(shown, console=out, auto_refresh=False, vertical_overflow="visible")
    watched = out.is_terminal and not json_
    with live if watched else contextlib.nullcontext():
        for found in measure(data):
            row = {**origin, **found}
            rows.append(row)
            if record is not None:  # as it comes: a benchmark that is stopped keeps what it has
                _record(row, record)
            shown.add_row(
                row["name"], _shown(row["ours"], ".4g"), _shown(row["peer"], ".4g"),
                _shown(row["ratio"], ".3g", " ×"), row["unit"],
            )  # fmt: skip
            if watched:
                live.refresh()
    if plot is not None:
        _draw(plot, rows)
    if json_:
        print(json.dumps(rows))
    elif not watched:
        out.print(shown)


def _benchmark(name: str) -> Callable[[Path | None], Iterator[dict[str, Any]]]:
    """What measures, of those that lie in the folder."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    known = sorted(stem for stem, text in texts.items() if "\ndef measure(" in text)
    if name not in known:
        raise unknown("benchmark", name, known)
    found: Callable[[Path | None], Iterator[dict[str, Any]]]
    found = importlib.import_module(f"benchmarks.{name}").measure
    return found


def _shown(value: float | None, digits: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{digits}}{unit}"


def _origin() -> dict[str, Any]:
    """What rows say of where they come from; those of a benchmark that runs on a GPU, too, say the
    device and its precision themselves."""
    return {
        "device": device_name("cpu"),
        "precision": precision("cpu"),
        "versions": versions(),
        "commit": commit(),
        "source": source_digest(),
    }


def _record(row: dict[str, Any], path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise UserError(f"the rows could not be written to {path}: {error}") from error


def _draw(
    path: Path, rows: Sequence[dict[str, Any]] = (), *, recorded: Sequence[Path] = ()
) -> None:
    """The rows that were measured now, or those of files."""
    picture = recorded_figure(recorded) if recorded else efficiency_figure(rows)
    try:
        write_atomically({path: picture})
    except OSError as error:
        raise UserError(f"the picture could not be written to {path}: {error}") from error
