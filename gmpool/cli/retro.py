"""`gmpool retro prepare`, and the commands of its group"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from gmpool.cli.arguments import DataRoot, usable, worker_count
from gmpool.cli.console import INTERRUPTED, err, say
from gmpool.cli.retro_predict import WorkersOption, predict, retro_task
from gmpool.errors import UserError
from gmpool.file_paths import require_other_file, require_writable_file, require_writable_folder


def add_commands(group: typer.Typer) -> None:
    group.command()(prepare)
    group.command()(predict)


def prepare(
    source: Annotated[
        str, typer.Argument(help='"USPTO-50k", or a CSV of mapped reactions.', callback=usable)
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="File to write (.retro); default: NAME.retro here, of a named set in the cache.",
            callback=usable,
        ),
    ] = None,
    workers: WorkersOption = "auto",
    seconds: Annotated[
        float, typer.Option(help="A product that takes longer has no candidates, and is listed.")
    ] = 60.0,
    reaction_column: Annotated[
        str | None, typer.Option(help="The column of reactants>>product, with numbered atoms.")
    ] = None,
    class_column: Annotated[
        str | None, typer.Option(help='The column of classes; "none": there are none.')
    ] = None,
    template_column: Annotated[
        str | None,
        typer.Option(help='The column of templates; "none": they are taken from the reactions.'),
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option(help="The column that says train, valid or test; without one: at random."),
    ] = None,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that are no usable reaction.")
    ] = False,
    without_smiles: Annotated[
        bool,
        typer.Option("--without-smiles", help="Write a smaller file, to train and score alone."),
    ] = False,
    data: DataRoot = None,
) -> None:
    """Make a file to train on, once for each set of reactions.

    It holds the templates of the training part, and what they make of every product.

    That takes minutes to hours. Stopped with Ctrl-C, the same command goes on where it was.

    gmpool retro prepare USPTO-50k

    gmpool retro prepare mine.csv --class-column type --out mine.retro
    """
    task = retro_task()
    target = output or task.prepared_place(source)
    if target.suffix != ".retro":
        raise UserError(f"--out ends in .retro; got {target}")
    require_writable_file(target, "--out")
    require_other_file(target, "--out", [source])
    folder = target.with_suffix(".shards")
    require_writable_folder(folder, "the folder")
    with Phases() as phases, phases.resumable(folder):
        done = task.prepare(
            source,
            data,
            target,
            folder=folder,
            workers=worker_count(workers),
            seconds=seconds,
            reaction_column=reaction_column,
            class_column=class_column,
            template_column=template_column,
            split_column=split_column,
            skip_bad_rows=skip_bad_rows,
            smiles=not without_smiles,
            tell=phases.tell,
        )
    for line in done.said:
        say(line)


class Phases:
    """A bar on a terminal, for one thing after the other."""

    def __init__(self) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self.bar = self.progress.add_task("", total=None)
        self.what, self.done, self.total = "", 0, 0

    def __enter__(self) -> "Phases":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def tell(self, what: str, done: int, of: int) -> None:
        if what != self.what:
            self.progress.reset(self.bar, description=what, total=of)
        self.what, self.done, self.total = what, done, of
        self.progress.update(self.bar, completed=done)

    @contextmanager
    def resumable(self, folder: Path) -> Iterator[None]:
        """On Ctrl-C say how far it came, and how to go on."""
        try:
            yield
        except KeyboardInterrupt:
            self.progress.stop()
            how_far = f"while {self.what}, {self.done:,} of {self.total:,}" if self.what else ""
            say(
                f"\nstopped {how_far}; candidates that were found are in {folder}: the same "
                f"command goes on from there"
            )
            raise typer.Exit(INTERRUPTED) from None
