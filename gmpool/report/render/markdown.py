"""Grids in Markdown."""

import re
from collections.abc import Sequence

from gmpool.report.grid import Grid, Square
from gmpool.report.render import About, form


@form("markdown", suffix=".md")
def markdown(grids: Sequence[Grid], about: About) -> str:
    return "\n".join(map(_grid, grids))


def _grid(grid: Grid) -> str:
    """Notes are a list; below a plain table, which has no title, they are one line."""
    heads = [f"{c.heading} ({c.small})" if c.small else c.heading for c in grid.columns]
    notes = [_plain(note) for note in grid.notes]
    return "\n".join(
        [
            *([f"## {_plain(grid.title)}", ""] if grid.title else []),
            "| " + " | ".join(map(_plain, heads)) + " |",
            "|" + "".join(" --- |" if c.left else " ---: |" for c in grid.columns),
            *(
                "| " + " | ".join(_square(s, grid.small_is) for s in squares) + " |"
                for squares in grid.lines
            ),
            "",
            *([f"- {note}" for note in notes] if grid.title else ["; ".join(notes)]),
            "",
        ]
    )


def _plain(text: str) -> str:
    """Text in which nothing is a column, a mark, a link or HTML; a < before a space is none."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return re.sub(r"[\\|*`]|(?<=\])\(", r"\\\g<0>", text)


def _square(square: Square, small_is: str) -> str:
    text = _plain(square.text)
    text = (f"**{text}**" if square.best else text) + square.raised
    return f"{text} ({small_is} {_plain(square.small)})" if square.small else text
