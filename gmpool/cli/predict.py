"""`gmpool predict`"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gmpool.cli.arguments import DataRoot, DeviceOption, usable_device
from gmpool.cli.console import INTERRUPTED, err, out, say
from gmpool.cli.row_file import ENDINGS, check_target, row_file
from gmpool.data import CATALOGUE
from gmpool.data.sources.find_file import folders
from gmpool.engine.checkpoint import load_model
from gmpool.tasks.predictions import PredictedRow

ROWS_AT_ONCE = 2048
SHOWN = 5


def predict(
    model: Annotated[Path, typer.Argument(help="Folder written by gmpool train --save-model.")],
    dataset: Annotated[
        str, typer.Argument(help="A table with SMILES, a TU folder, packed graphs, or a name.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", help=f"File to write ({', '.join(ENDINGS)}); default: standard output."
        ),
    ] = None,
    data: DataRoot = None,
    device: DeviceOption = "auto",
    smiles_column: Annotated[
        str | None, typer.Option("--smiles-column", help="Table: the column with SMILES.")
    ] = None,
    skip_bad_rows: Annotated[
        bool,
        typer.Option("--skip-bad-rows", help="Leave out rows that have no prediction."),
    ] = False,
) -> None:
    """Apply a trained model to new data: all columns of a table stay, in its order, and beside them
    stand the predictions (pred_NAME a value or class, p_NAME a probability) and a column that says
    what the problem is where there is none. Of other data there is one row per graph.

    A text that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    if output is not None:
        files = CATALOGUE[dataset].files if dataset in CATALOGUE else ()
        named = [folder / file for folder in folders(data) for file in files]
        check_target(output, [dataset, *named])
    usable = usable_device(device)
    saved = load_model(model)
    made = saved.predict(dataset, data, device=usable, smiles_column=smiles_column)
    for name, other in made.renamed.items():
        say(f"the input has a column {name!r}; the new one is called {other!r}")
    counts = Counts(skip_bad_rows)
    with (
        stopped_after(counts, output),
        bar_of(err, hidden=output is None and out.is_terminal) as bar,
        row_file(output, made.columns, made.kinds) as write,
    ):
        task = bar.add_task("", total=made.total)
        rows = counts.counted(made.rows)
        while some := list(islice(rows, ROWS_AT_ONCE)):
            counts.changed += write([row.cells for row in some])
            bar.update(task, completed=counts.rows)
    counts.say(output)


@dataclass
class Counts:
    """How many rows came, and what was wrong with some."""

    leaves_out: bool
    rows: int = 0
    bad: int = 0
    changed: int = 0
    first: list[str] = field(default_factory=list)

    def counted(self, rows: Iterator[PredictedRow]) -> Iterator[PredictedRow]:
        """The rows that are to be written."""
        for row in rows:
            self.rows += 1
            if row.problem is not None:
                self.bad += 1
                if self.bad <= SHOWN:
                    self.first.append(f"{row.place}: {row.problem}")
            if row.problem is None or not self.leaves_out:
                yield row

    def say(self, output: Path | None) -> None:
        left_out = "left out" if self.leaves_out else "without a prediction"
        for reason in self.first:
            say(f"{left_out}: {reason}")
        if self.bad > SHOWN:
            say(f"… and {self.bad - SHOWN} more")
        if self.bad:
            say(f"{self.bad} of {self.rows} rows {left_out}")
        if self.changed:
            say(f"cells that begin like a formula and got an apostrophe: {self.changed}")
        if output is not None:
            say(f"{self.rows - self.bad} predictions: {output}")


@contextmanager
def stopped_after(counts: Counts, output: Path | None) -> Iterator[None]:
    """On Ctrl-C say how far it came."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "" if output is None else f"; {output} was not written"
        say(f"\nstopped after {counts.rows} rows{kept}")
        raise typer.Exit(INTERRUPTED) from None


class RowCount(ProgressColumn):
    """How many rows of how many, and how many in a second, as far as it is known."""

    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f" of {task.total:,.0f}"
        speed = "" if task.speed is None else f", {task.speed:,.0f} rows/s"
        return Text(f"{task.completed:,.0f}{total} rows{speed}")


def bar_of(console: Console, *, hidden: bool) -> Progress:
    """A bar on a terminal, but not where it would stand between the rows."""
    return Progress(
        BarColumn(bar_width=16),
        RowCount(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=hidden or not console.is_terminal,
    )
