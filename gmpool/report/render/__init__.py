"""Forms of grids: what a table can be printed or written as. One file here is one form."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gmpool.plain_text import one_line
from gmpool.registry import Registry
from gmpool.report.grid import Grid, harmless

Maker = Callable[[Sequence[Grid], "About"], str]


class About(NamedTuple):
    """What a whole page says beside its grids; other forms have no place for it."""

    title: str = ""
    command: str = ""
    """How it was made."""


class Form(NamedTuple):
    make: Maker
    suffix: str
    """Of a file."""


FORMS: Registry[Form] = Registry("format", package="gmpool.report.render")


def form(name: str, suffix: str) -> Callable[[Maker], Maker]:
    """Registers a function that makes text of grids."""

    def register(make: Maker) -> Maker:
        FORMS.register(name)(Form(make, suffix))
        return make

    return register


def render(name: str, grids: Sequence[Grid], *, title: str = "", command: str = "") -> str:
    """The grids in the form of that name. title, command: for a page."""
    about = About(one_line(title), one_line(command))
    return FORMS[name].make([harmless(grid) for grid in grids], about)
