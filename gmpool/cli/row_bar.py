"""How many rows are done, as a bar."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gmpool.plain_text import visible


class RowCount(ProgressColumn):
    """How many rows of how many, and how many in a second, as far as it is known."""

    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f" of {task.total:,.0f}"
        speed = "" if task.speed is None else f", {task.speed:,.0f} rows/s"
        return Text(f"{task.completed:,.0f}{total} rows{speed}")


def bar_of(console: Console, *, hidden: bool, name: str = "") -> Progress:
    """A bar on a terminal, but not where it would stand between the rows. name: of what is done."""
    return Progress(
        *([TextColumn(visible(name), markup=False)] if name else []),
        BarColumn(bar_width=16),
        RowCount(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=hidden or not console.is_terminal,
    )
