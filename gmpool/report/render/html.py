"""Grids as one HTML page with their pictures inside."""

import base64
import struct
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from gmpool.report.grid import UNTITLED, Grid
from gmpool.report.render import About, form

_TEMPLATES = Environment(
    loader=PackageLoader("gmpool.report.render", ""),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


class Image(NamedTuple):
    """In pixels, so that the page has room for it before it is drawn."""

    data: str
    width: int
    height: int


def _image(png: bytes) -> Image:
    """Of a PNG, whose first part says how large it is."""
    width, height = struct.unpack(">II", png[16:24].rjust(8, b"\0"))
    return Image(base64.b64encode(png).decode(), width, height)


def _stays_in_sight(grid: Grid) -> int:
    """The number of the column that names a line while its numbers are scrolled: of lines with
    labels, which may all be of one set, that with the label; else the first."""
    named = (i for i, column in enumerate(grid.columns) if column.left)
    return next((i for i in named if grid.columns[i].heading == "label"), 0)


@form("html", suffix=".html")
def html(grids: Sequence[Grid], about: About) -> str:
    """Names, numbers and notes may hold any sign: the template escapes them all."""
    pictures = [
        (picture, None if (png := picture.draw()) is None else _image(png))
        for grid in grids
        for picture in grid.pictures
    ]
    return _TEMPLATES.get_template("page.html").render(
        title=about.title or next((grid.title for grid in grids if grid.title), UNTITLED),
        command=about.command,
        stays_in_sight=_stays_in_sight,
        tables=[grid for grid in grids if not grid.cards],
        drawn=[
            (grid, [(card, card.draw()) for card in grid.cards]) for grid in grids if grid.cards
        ],
        pictures=pictures,
        facts=dict.fromkeys(fact for grid in grids for fact in grid.facts),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
