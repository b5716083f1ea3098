"""Grids, that of a comparison first, on a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAVY
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gmpool.report.comparison import Comparison
from gmpool.report.grid import Column, Square, columns, notes


def markdown(comparison: Comparison) -> str:
    return markdown_grid(comparison.plan.title, columns(comparison), notes(comparison))


def markdown_grid(title: str, grid: Sequence[Column], said: Sequence[str]) -> str:
    """said: notes below the table."""
    heads = [f"{c.heading} ({c.small})" if c.small else c.heading for c in grid]
    lines = [f"## {title}", "", "| " + " | ".join(map(_plain, heads)) + " |"]
    lines.append("| --- |" + " ---: |" * (len(grid) - 1))
    for squares in zip(*(c.squares for c in grid), strict=True):
        lines.append("| " + " | ".join(map(_markdown, squares)) + " |")
    return "\n".join([*lines, "", *(f"- {_plain(note)}" for note in said), ""])


def _plain(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")


def _markdown(square: Square) -> str:
    text = _plain(square.text)
    text = (f"**{text}**" if square.best else text) + square.raised
    return f"{text} (paper {_plain(square.small)})" if square.small else text


def terminal(comparison: Comparison, width: int) -> RenderableType:
    """The grid with what a reader must know; see `terminal_grid`."""
    grid = columns(comparison)
    return terminal_grid(comparison.plan.title, grid, notes(comparison, "bold *"), width)


def terminal_grid(
    title: str, grid: Sequence[Column], said: Sequence[str], width: int
) -> RenderableType:
    """One table, or where `width` characters do not hold it, several with some columns each.

    The best have a star as well: output that goes to a file is not bold.
    """
    label, *rest = grid
    shown: list[RenderableType] = [Text(title, style="bold")]
    while rest:
        count = len(rest)
        while count > 1 and _needs(_table([label, *rest[:count]])) > width:
            count -= 1
        shown.append(_table([label, *rest[:count]]))
        rest = rest[count:]
    return Group(*shown, *(Text(note) for note in said))


def _needs(table: Table) -> int:
    return Console(width=10**4).measure(table).maximum


def _table(grid: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAVY, padding=(0, 1), show_edge=False)
    label, *rest = grid
    table.add_column(Text(f"\n{label.heading}"), overflow="fold")
    shown = [[Text(square.text) for square in label.squares]]
    for column in rest:
        marks = max((len(_after(square)) for square in column.squares), default=0)
        lines = [line for square in column.squares for line in _lines(square, marks)]
        width = max(map(len, (column.heading, column.small, *lines)))
        heading = f"{column.heading:>{width}}\n{column.small:>{width}}"
        table.add_column(Text(heading), overflow="fold")
        shown.append([_words(square, marks, width) for square in column.squares])
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    return table


def _after(square: Square) -> str:
    return ("*" if square.best else "") + square.raised


def _lines(square: Square, marks: int) -> tuple[str, str]:
    """marks: characters for what comes after numbers, so that they stand below each other."""
    return square.text + _after(square).ljust(marks), square.small


def _words(square: Square, marks: int, width: int) -> Text:
    first, second = _lines(square, marks)
    text = Text(f"{first:>{width}}\n" if second else f"{first:>{width}}")
    start = width - len(first)
    styles = {"bold": square.best, "underline": square.best_corrected}
    for style in (style for style, on in styles.items() if on):
        text.stylize(style, start, start + len(square.text))
    return text.append(f"{second:>{width}}", style="dim") if second else text
