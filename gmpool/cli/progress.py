"""Progress bars for runs: one for all runs, one for the epochs of the run that is going. And what
Ctrl-C leaves behind: every finished run, and a word on how to go on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gmpool.cli.console import INTERRUPTED, say
from gmpool.engine.executors.ray_tasks import tally
from gmpool.engine.job import Job, Run
from gmpool.engine.store import RunStore
from gmpool.engine.training import Epoch
from gmpool.record import Row

QUIET = 20.0
"""Seconds after which who reads a log hears that a run is still going."""


class ProgressBars:
    """A watcher of runs: bars on a terminal, and a line per finished run anywhere. Where there is
    no terminal a line now and then says how far a long run is."""

    def __init__(self, console: Console, total_runs: int) -> None:
        self.console = console
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self.runs = self.progress.add_task("runs", total=total_runs, note="")
        self.epochs = self.progress.add_task("epochs", total=1, note="", visible=False)
        self.said = time.monotonic()

    def __enter__(self) -> ProgressBars:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def run_started(self, job: Job, run: Run) -> Callable[[Epoch], None]:
        name = f"{_line(job)} seed {run.seed}{_fold(job, run, ' fold {}')}"
        self.progress.reset(self.epochs, total=job.train.epochs, description=name, visible=True)

        def on_epoch(epoch: Epoch) -> None:
            note = f"valid {_score(epoch.valid_metric)}, loss {_score(epoch.valid_loss)}"
            if math.isnan(epoch.valid_loss):
                note = f"training loss {_score(epoch.train_loss)}"
            self.progress.update(self.epochs, completed=epoch.epoch, note=note)
            self._tell(f"{name}: epoch {epoch.epoch} of {job.train.epochs}, {note}")

        return on_epoch

    def stack_started(self, jobs: Sequence[Job], runs: int) -> Callable[[int, int], None]:
        """A bar of its own: stacks run side by side."""
        lines = ", ".join(dict.fromkeys(map(_line, jobs)))
        name = f"{lines} on {escape(jobs[0].name)}, {runs} runs as one"
        epochs = max(job.train.epochs for job in jobs)
        bar = self.progress.add_task(name, total=epochs, note="")

        def on_epoch(epoch: int, running: int) -> None:
            if running:
                self.progress.update(bar, completed=epoch, note=f"{running} still running")
                self._tell(f"{name}: epoch {epoch} of {epochs}, {running} still running")
            else:
                self.progress.remove_task(bar)

        return on_epoch

    def _tell(self, text: str) -> None:
        if not self.console.is_terminal and time.monotonic() - self.said >= QUIET:
            self.said = time.monotonic()
            self.console.print(text, markup=True, emoji=False, highlight=False, soft_wrap=True)

    def placed(self, runs: Mapping[str, int]) -> None:
        self.progress.update(self.runs, note=tally(runs))

    def note(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    def run_finished(self, job: Job, run: Run, row: Row, *, reused: bool) -> None:
        self.progress.advance(self.runs)
        self.said = time.monotonic()
        score = "undefined" if row.test is None else _score(row.test)
        how = "recorded before" if reused else f"{row.epochs} epochs, {row.seconds:.1f} s"
        self.console.print(
            f"{_line(job)} on {escape(job.name)}  seed {run.seed}  "
            f"{_fold(job, run, 'fold {:2d}  ')}test {row.metric} {score}  [dim]({how})[/]",
            markup=True,
            emoji=False,
            highlight=False,
            soft_wrap=True,
        )


def _line(job: Job) -> str:
    return escape(job.task.label(job.model))


def _fold(job: Job, run: Run, words: str) -> str:
    """Which fold, where there are several."""
    return words.format(run.fold) if len(job.card.split_digests) > 1 else ""


def _score(value: float) -> str:
    """Two decimals, unless they would hide a small error."""
    return f"{value:.2g}" if 0 < abs(value) < 0.1 else f"{value:.2f}"


def say_short_training(jobs: Iterable[Job]) -> None:
    """A word on training that ends before its learning rate has risen."""
    short = dict.fromkeys(
        (job.train.epochs, job.train.warmup_epochs)
        for job in jobs
        if job.task.has_weights and job.train.epochs <= job.train.warmup_epochs
    )
    for epochs, warmup in short:
        say(
            f"training of {epochs} epochs ends before the learning rate has risen, for which it "
            f"takes {warmup}; the option warmup_epochs shortens that"
        )


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
