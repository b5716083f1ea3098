"""The command line: a command per task that has one, `run`, `table`, `predict`, `list`, …"""

import io
import logging
import sys
import traceback
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

import gmpool
from gmpool.cli.bench import bench_command
from gmpool.cli.console import INTERRUPTED, SaidWarnings, err, out, say
from gmpool.cli.do_task import command_of
from gmpool.cli.embed import embed
from gmpool.cli.evaluate import evaluate
from gmpool.cli.listing import listing
from gmpool.cli.pack import pack
from gmpool.cli.predict import predict
from gmpool.cli.ranks import by_all
from gmpool.cli.retro import add_commands
from gmpool.cli.retro_predict import GROUP
from gmpool.cli.run import run_command
from gmpool.cli.sample import sample
from gmpool.cli.store import store
from gmpool.cli.table import table_command
from gmpool.engine.group import wanted
from gmpool.errors import UserError
from gmpool.plain_text import visible
from gmpool.tasks.task import TASKS


class Commands(TyperGroup):
    """The commands; Ctrl-C in any of them ends with 130 and without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("\nstopped")
            raise typer.Exit(INTERRUPTED) from None


logging.getLogger("gmpool").addHandler(SaidWarnings(logging.WARNING))
app = typer.Typer(
    cls=Commands,
    help="Graph multiset pooling: train, predict and compare readouts of graphs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
groups: dict[str, typer.Typer] = {}
for task in (TASKS[name] for name in TASKS):
    if task.verb is None:
        continue
    *before, verb = task.verb.split()
    for group in before:
        if group not in groups:
            groups[group] = typer.Typer(help=task.help, no_args_is_help=True)
            app.add_typer(groups[group], name=group)
        if task.makes_samples:
            groups[group].command()(sample)
    (groups[before[0]] if before else app).command(verb)(command_of(task))
add_commands(groups[GROUP])
for command in (run_command(), table_command(), predict, evaluate, embed, pack, bench_command()):
    app.command()(command)
app.command("list")(listing)
app.add_typer(store, name="store")


def _version(wanted: bool) -> None:
    if wanted:
        out.print(gmpool.__version__)
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options before the command; main looks for --debug itself."""


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal has a ±
    try:
        by_all(app) if wanted() else app()
    except UserError as error:
        if "--debug" in sys.argv:
            sys.stderr.write(visible("".join(traceback.format_exception(error))))
        err.print(f"[bold red]error:[/] {escape(str(error))}", markup=True, soft_wrap=True)
        sys.exit(2)
