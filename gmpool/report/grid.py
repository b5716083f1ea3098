"""A grid: one table of results, whatever it is made from and whichever form shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gmpool.plain_text import one_line

MARKS = {"f": "ᶠ", "h": "ʰ", "i": "ⁱ", "d": "ᵈ", "u": "ᵘ"}
"""Letters that a grid's notes explain, raised."""
UNTITLED = "Recorded runs"
"""For a form that wants a title where a grid has none."""


@dataclass(frozen=True)
class Square:
    """One place of the grid."""

    text: str
    small: str = ""
    """The paper's and how much ours is more, or an interval: a second line, or in brackets."""
    marks: str = ""
    """Letters of MARKS."""
    best: bool = False
    best_corrected: bool = False

    @property
    def raised(self) -> str:
        return "".join(MARKS[letter] for letter in self.marks)


@dataclass(frozen=True)
class Column:
    heading: str
    squares: Sequence[Square]
    """One per line."""
    small: str = ""
    """The second line of the heading."""
    left: bool = False
    """A label, which stands at the left; the first column is one."""
    essential: bool = True
    """Whether a narrow terminal shows it as well."""


@dataclass(frozen=True)
class Picture:
    """What a page shows below its grids."""

    name: str
    """By which a file of it is named."""
    title: str
    draw: Callable[[], bytes | None]
    """Makes the PNG; None where the note says why there is none."""
    note: str = ""

    @property
    def file(self) -> str:
        return "".join(c if c.isalnum() or c in "-_." else "-" for c in self.name) + ".png"


@dataclass(frozen=True)
class Card:
    """What a page shows in place of a line, where there is something to draw."""

    heading: str
    draw: Callable[[], str | None]
    """Makes the SVG; None where it cannot be drawn."""
    caption: str
    facts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Grid:
    """One table with its notes, its numbers and its pictures."""

    title: str
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    """What a reader must know to trust the table, one sentence each."""
    underlined: str = ""
    """What an underline means, for forms that have one."""
    records: Sequence[dict[str, Any]] = ()
    """The plain numbers for CSV, which may be those of the grids that follow as well."""
    whole: dict[str, Any] | list[Any] | None = None
    """The same for JSON; None: the records."""
    facts: Sequence[tuple[str, str]] = ()
    """How it was made, by name; one without a name says more of the one before. A page ends with
    them."""
    pictures: Sequence[Picture] = ()
    cards: Sequence[Card] = ()
    """Where there are some, a page shows them in place of the lines, below all pictures."""
    essential: bool = True
    """Whether a terminal shows it as well; a file has it in any case."""
    small_is: str = "paper"
    """What the small numbers are, for a form that has them in brackets."""

    @property
    def lines(self) -> list[tuple[Square, ...]]:
        return list(zip(*(column.squares for column in self.columns), strict=True))


def harmless(grid: Grid) -> Grid:
    """The same for a reader: whatever a file has called its data, no control character is left."""
    columns = [
        replace(
            column,
            heading=one_line(column.heading),
            small=one_line(column.small),
            squares=[
                replace(square, text=one_line(square.text), small=one_line(square.small))
                for square in column.squares
            ],
        )
        for column in grid.columns
    ]
    return replace(
        grid,
        title=one_line(grid.title),
        columns=columns,
        notes=[one_line(note) for note in grid.notes],
        facts=[(one_line(name), one_line(value)) for name, value in grid.facts],
        pictures=[
            replace(picture, title=one_line(picture.title), note=one_line(picture.note))
            for picture in grid.pictures
        ],
        cards=[
            replace(
                card,
                heading=one_line(card.heading),
                caption=one_line(card.caption),
                facts=[(one_line(name), one_line(value)) for name, value in card.facts],
            )
            for card in grid.cards
        ],
    )
