"""Rows of many inputs that the nodes of a cluster make, an input each at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gmpool.cli.console import INTERRUPTED, err, say
from gmpool.cli.made_rows import Maker
from gmpool.cli.new_data import NewData
from gmpool.cli.row_counts import Counts
from gmpool.cli.row_file import row_file
from gmpool.cli.several import Several
from gmpool.cli.unfinished import Origin
from gmpool.engine.executors.processes import be_of_one_thread
from gmpool.engine.executors.ray_tasks import Cluster, tally
from gmpool.errors import UserError

PLACES = "on a cluster, inputs and outputs lie in folders that all of its nodes see"


class _Input(NamedTuple):
    source: Path
    output: Path
    origin: Origin


def write_on(cluster: Cluster, data: NewData, maker: Maker) -> None:
    """Each output is put in place when it is whole; inputs that are done are not done again, and
    one with an error does not stop the others."""
    if data.folder is None:
        raise UserError(
            "--executor ray gives each node an input at a time: give several, such as "
            "'parts/*.csv', with --out FOLDER; one alone is done by all cores of this machine"
        )
    data.folder.mkdir(parents=True, exist_ok=True)
    several, total = Several(data, maker.origin), len(data.pairs)
    failed: list[str] = []
    rows, done = Counter[str](), 0
    with _bar(total) as bar:
        task = bar.add_task("inputs", total=total, note="")

        def left() -> Iterator[_Input]:
            for source, output, origin in several.left():
                if not Path(source).exists():
                    raise UserError(f"{source}: no file or folder is called so; {PLACES}")
                yield _Input(Path(source).absolute(), output.absolute(), origin)

        def lost(one: _Input, times: int) -> None:
            say(f"{one.source.name}: lost with its worker or node, made again (time {times})")

        try:
            with closing(cluster.each(_write, maker, left(), lost)) as made:
                for one, counts, node in made:
                    if isinstance(counts, UserError):
                        failed.append(f"{one.source}: {counts}")
                        say(f"failed: {failed[-1]}")
                        continue
                    several.note(one.output, one.origin)
                    counts.say(maker.what, one.output, leaves_out=maker.leaves_out)
                    rows[node] += counts.rows
                    done += 1
                    bar.update(task, completed=done + several.done, note=f"rows: {tally(rows)}")
        except KeyboardInterrupt:
            there = f"{done + several.done} of {total} inputs are done"
            say(f"\nstopped: {there}; the same command goes on")
            raise typer.Exit(INTERRUPTED) from None
    nodes = f" ({tally(rows)})" if rows else ""
    say(f"{done + several.done} of {total} inputs are done, {rows.total():,} rows now{nodes}")
    if failed:
        raise UserError(
            f"{len(failed)} of {total} inputs failed, the first: {failed[0]}; the same command "
            "tries them again"
        )


def _write(maker: Maker, one: _Input) -> Counts:
    """In a worker."""
    be_of_one_thread()
    for place in (one.source, one.output.parent):
        if not place.exists():
            raise UserError(f"a node does not see {place}: {PLACES}")
    made, counts = maker.make(str(one.source), 0), Counts()
    with closing(made.parts), row_file(one.output, made.columns, made.kinds) as write:
        for part in made.parts:
            counts.changed += write(counts.to_write(part, leaves_out=maker.leaves_out))
    return counts


def _bar(total: int) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )
