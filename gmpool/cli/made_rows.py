"""Rows that a model makes beside those of its input, written as they come: one file after the
other, and each goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from gmpool.cli.console import INTERRUPTED, err, out, say
from gmpool.cli.new_data import NewData
from gmpool.cli.row_bar import bar_of
from gmpool.cli.row_counts import Counts
from gmpool.cli.row_file import row_file
from gmpool.cli.several import Several, with_input
from gmpool.cli.unfinished import (
    Origin,
    Unfinished,
    Write,
    can_be_gone_on_with,
)
from gmpool.tasks.predictions import Predictions


@dataclass(frozen=True)
class Maker:
    """What makes rows of an input, of which so many are done already."""

    make: Callable[[str, int], Predictions]
    origin: Origin
    """What they depend on beside the input, by the words for it."""
    what: str
    """A row gets one: such as prediction."""
    leaves_out: bool = False
    """Whether rows without one are not written."""

    def write_all(self, data: NewData) -> None:
        """Those of several inputs that are done already are not done again."""
        if data.folder is None:
            ((source, output),) = data.pairs
            self._write(source, output)
            return
        several = Several(data, self.origin)
        for number, (source, output, origin) in enumerate(several.left(), start=1):
            name = f"{number + several.done}/{len(data.pairs)} {Path(source).name}"
            self._write(source, output, origin, name)
            several.note(output, origin)

    def _write(
        self, source: str, output: Path | None, origin: Origin | None = None, name: str = ""
    ) -> None:
        if output is None or not can_be_gone_on_with(output):
            self._at_once(source, output, name)
        else:
            self._part_by_part(source, output, origin or with_input(self.origin, source), name)

    def _at_once(self, source: str, output: Path | None, name: str) -> None:
        made, counts = self.make(source, 0), Counts()
        kept = "" if output is None else f"; {output} was not written"
        with _stopped_after(counts, kept), row_file(output, made.columns, made.kinds) as write:
            self._run(made, counts, lambda rows, told: told(write(rows)), output, name)
        counts.say(self.what, output, leaves_out=self.leaves_out)

    def _part_by_part(self, source: str, output: Path, origin: Origin, name: str) -> None:
        file = Unfinished(output, origin)
        if file.other:
            say(file.other)
        counts = Counts.again(file.counts)
        if counts.rows:
            say(f"{output}: {counts.rows:,} rows were done before, it goes on behind them")
        made = self.make(source, counts.rows)
        kept = f"; {output} is not done, and the same command goes on"
        with _stopped_after(counts, kept), file.going_on(made.columns) as write:
            self._run(made, counts, write, output, name)
        counts.say(self.what, output, leaves_out=self.leaves_out)

    def _run(
        self, made: Predictions, counts: Counts, write: Write, output: Path | None, name: str
    ) -> None:
        def told(changed: int) -> dict[str, Any]:
            counts.changed += changed
            return counts.to_json()

        for old, new in made.renamed.items():
            say(f"the input has a column {old!r}; the new one is called {new!r}")
        hidden = output is None and out.is_terminal
        with closing(made.parts), bar_of(err, hidden=hidden, name=name) as bar:
            task = bar.add_task("", total=made.total, completed=counts.rows)
            for part in made.parts:
                write(counts.to_write(part, leaves_out=self.leaves_out), told)
                bar.update(task, completed=counts.rows)


@contextmanager
def _stopped_after(counts: Counts, kept: str) -> Iterator[None]:
    """On Ctrl-C say how far it came."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"\nstopped after {counts.rows} rows{kept}")
        raise typer.Exit(INTERRUPTED) from None
