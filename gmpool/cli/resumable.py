"""What Ctrl-C leaves behind: every finished run, and a word on how to go on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from gmpool.cli.console import INTERRUPTED, say
from gmpool.engine.store import Row, RunStore


@contextmanager
def resumable(runs: RunStore, total: int, count: Callable[[dict[str, Row]], int]) -> Iterator[None]:
    """On Ctrl-C say what is kept and how to go on.

    count: how many of the total are among the finished rows, which it is given by key.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(
            f"\nstopped: {count(runs.finished())} of {total} runs are recorded in {runs.folder}; "
            f"the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None
