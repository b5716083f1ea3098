"""Progress bars for runs: one for all runs, one for the epochs of the run that is going."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from gmpool.config import AutoencoderConfig, RunSpec
from gmpool.engine.store import Row
from gmpool.engine.train import Epoch


class ProgressBars:
    """A watcher of `run_jobs`: bars on a terminal, and a line per finished run anywhere."""

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

    def __enter__(self) -> ProgressBars:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def run_started(self, spec: RunSpec) -> Callable[[Epoch], None]:
        name = f"{_line(spec)} seed {spec.seed}{_fold(spec, ' fold {}')}"
        self.progress.reset(self.epochs, total=spec.train.epochs, description=name, visible=True)

        def on_epoch(epoch: Epoch) -> None:
            note = f"valid {_score(epoch.valid_metric)}, loss {_score(epoch.valid_loss)}"
            self.progress.update(self.epochs, advance=1, note=note)

        return on_epoch

    def stack_started(self, specs: Sequence[RunSpec]) -> Callable[[int, int], None]:
        """A bar of its own: stacks run side by side."""
        most = max(spec.train.epochs for spec in specs)
        name = f"{_line(specs[0])} on {escape(specs[0].dataset)}, {len(specs)} runs as one"
        bar = self.progress.add_task(name, total=most, note="")

        def on_epoch(epoch: int, running: int) -> None:
            if running:
                self.progress.update(bar, completed=epoch, note=f"{running} still running")
            else:
                self.progress.remove_task(bar)

        return on_epoch

    def note(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    def run_finished(self, spec: RunSpec, row: Row, *, reused: bool) -> None:
        self.progress.advance(self.runs)
        score = "undefined" if row["test"] is None else _score(row["test"])
        how = "recorded before" if reused else f"{row['epochs']} epochs, {row['seconds']:.1f} s"
        self.console.print(
            f"{_line(spec)} on {escape(spec.dataset)}  seed {spec.seed}  "
            f"{_fold(spec, 'fold {:2d}  ')}test {row['metric']} {score}  [dim]({how})[/]",
            markup=True,
            emoji=False,
            highlight=False,
            soft_wrap=True,
        )


def _line(spec: RunSpec) -> str:
    """A method, and of a reconstruction what else its lines are told apart by."""
    model = spec.model
    if isinstance(model, AutoencoderConfig):
        return f"{model.method} {model.ratio:.0%} min {model.objective}"
    return model.method


def _fold(spec: RunSpec, words: str) -> str:
    """Which fold; a reconstruction has but one split."""
    return "" if spec.task == "reconstruct" else words.format(spec.fold)


def _score(value: float) -> str:
    """Two decimals, unless they would hide a small error."""
    return f"{value:.2g}" if 0 < abs(value) < 0.1 else f"{value:.2f}"
