"""Grids on a terminal, however wide it is."""

import io
from collections.abc import Sequence

from rich.box import SIMPLE_HEAVY
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gmpool.report.grid import Column, Grid, Square, harmless
from gmpool.report.render import About, form

WIDTH = 200
"""Of text in a file."""
FEW = 3
"""Tables that a grid may become of which a narrow terminal could show less."""


@form("terminal", suffix=".txt")
def text(grids: Sequence[Grid], about: About) -> str:
    console = Console(file=io.StringIO(), width=WIDTH)
    console.print(terminal(grids, WIDTH))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def terminal(grids: Sequence[Grid], width: int) -> RenderableType:
    """For `width` characters.

    The best have a star as well: output that goes to a file is not bold.
    """
    shown: list[RenderableType] = []
    for grid in map(harmless, grids):
        shown += [""] if shown else []
        shown += [Text(grid.title, style="bold")] if grid.title else []
        shown += _tables(grid, width)
        starred = any(square.best for column in grid.columns for square in column.squares)
        shown += [Text(note) for note in (*grid.notes, *["*: bold"] * starred)]
    return Group(*shown)


def _tables(grid: Grid, width: int) -> list[Table]:
    """All columns in one table; where they are too wide, a grid that has columns which are not
    essential loses these, and of more than FEW tables it is an upright block per line; another is
    as many tables as it takes."""
    essential = [column for column in grid.columns if column.essential]
    for columns in (grid.columns, essential):
        if _fits(columns, width):
            return [_table(columns)]
    tables = _split(essential, width)
    if len(essential) < len(grid.columns) and len(tables) > FEW:
        return [_upright(grid, squares) for squares in grid.lines]
    return tables


def _split(columns: Sequence[Column], width: int) -> list[Table]:
    """Several tables, each with all labels."""
    labels = [column for column in columns if column.left]
    rest = [column for column in columns if not column.left]
    made = []
    while rest:
        count = len(rest)
        while count > 1 and not _fits([*labels, *rest[:count]], width):
            count -= 1
        made.append(_table([*labels, *rest[:count]]))
        rest = rest[count:]
    return made


def _fits(columns: Sequence[Column], width: int) -> bool:
    return Console(width=10**4).measure(_table(columns)).maximum <= width


def _upright(grid: Grid, squares: Sequence[Square]) -> Table:
    table = Table(show_header=False)
    for column, square in zip(grid.columns, squares, strict=True):
        heading = " ".join(filter(None, [column.heading, column.small]))
        text = Text(square.text + _after(square))
        if square.small:
            text.append(f"  {square.small}", style="dim")
        table.add_row(Text(heading), text)
    return table


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAVY, padding=(0, 1), show_edge=False)
    high = any(column.small for column in columns)
    shown = []
    for column in columns:
        if column.left:
            table.add_column(Text("\n" * high + column.heading), overflow="fold")
            shown.append([Text(square.text) for square in column.squares])
            continue
        marks = max((len(_after(square)) for square in column.squares), default=0)
        lines = [line for square in column.squares for line in _lines(square, marks)]
        width = max(map(len, (column.heading, column.small, *lines)))
        heading = f"{column.heading:>{width}}" + f"\n{column.small:>{width}}" * high
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
