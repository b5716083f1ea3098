"""The numbers of a column of text: decimal points or commas, words for gaps, and what is wrong."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gmpool.data.sources.table_cells import is_missing
from gmpool.data.sources.table_text import DECIMAL_COMMA

_BEYOND = 2.0**128 * (1 - 2.0**-25)  # from here on float32 is infinite
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*")


class Numbers(NamedTuple):
    """A column as numbers."""

    values: NDArray[np.float64]
    """[R]; NaN where there is no value, or a wrong one."""
    wrong: dict[str, str]
    """Of each cell that cannot be taken, why."""
    filled: int
    """How many cells hold anything."""
    numeric: bool
    """Whether most of those look like numbers."""
    decimal_comma: bool


class _Parsed(dict[str, float]):
    """The number of each text, found once: columns repeat themselves."""

    def __init__(self) -> None:
        self.wrong: dict[str, str] = {}
        self.alike: set[str] = set()
        """Wrong, but written like a number."""

    def __missing__(self, cell: str) -> float:
        value = math.nan
        if not is_missing(cell):
            comma = DECIMAL_COMMA.fullmatch(cell)
            try:
                value = float(cell.replace(",", ".") if comma else cell)
                if "_" in cell:
                    self.refuse(cell, "is not a number", alike=False)
                elif not abs(value) < _BEYOND:
                    self.refuse(cell, "is too large: numbers end at 3.4e38")
            except ValueError:
                self.refuse(cell, "is not a number", alike=False)
            if cell in self.wrong:
                value = math.nan
        self[cell] = value
        return value

    def refuse(self, cell: str, reason: str, alike: bool = True) -> None:
        self.wrong[cell], self[cell] = reason, math.nan
        if alike:
            self.alike.add(cell)


def read_numbers(cells: Sequence[str]) -> Numbers:
    """The numbers of a column. A comma is a decimal comma, unless the column also has points or
    each comma may as well divide thousands."""
    parsed = _Parsed()
    values = np.fromiter(map(parsed.__getitem__, cells), np.float64, len(cells))
    commas = [cell for cell, value in parsed.items() if "," in cell and not math.isnan(value)]
    if commas:
        pointed = any("." in cell for cell, value in parsed.items() if not math.isnan(value))
        if pointed or all(map(_THOUSANDS.fullmatch, commas)):
            for cell in commas:
                other = "in a column that also has points" if pointed else "decimal or of thousands"
                parsed.refuse(cell, f"has a comma, {other}; write numbers with a point")
            values = np.fromiter(map(parsed.__getitem__, cells), np.float64, len(cells))
    good = len(cells) - int(np.isnan(values).sum())
    filled, alike = good, good
    if parsed.wrong:
        filled += sum(map(parsed.wrong.__contains__, cells))
        alike += sum(map(parsed.alike.__contains__, cells))
    return Numbers(values, parsed.wrong, filled, alike * 2 > filled, bool(commas))
