"""Rows as the bytes of a text file."""

import csv
import gzip
import lzma
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace

from gmpool.plain_text import visible
from gmpool.spreadsheet import safe_cell

Row = Sequence[str | float | None]
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Each piece is packed for itself, and pieces one after the other are a packed file: so it can be
# gone on with. Without name and time equal rows are equal bytes.
_PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": partial(gzip.compress, compresslevel=6, mtime=0),
    ".xz": lzma.compress,
}
TEXT_ENDINGS = tuple(kind + packed for kind in _SEPARATORS for packed in _PACKED)


class RowText:
    """Makes them, in the form that the name of a file asks for.

    shown: on a terminal, which obeys control characters.
    """

    def __init__(self, name: str = ".csv", *, shown: bool = False) -> None:
        name = name.lower()
        ending = next(each for each in (*TEXT_ENDINGS[1:], ".csv") if name.endswith(each))
        self._separator = _SEPARATORS[ending[:4]]
        self._pack = _PACKED[ending[4:]]
        self._shown = shown

    def __call__(self, rows: Sequence[Row]) -> tuple[bytes, int]:
        """(the bytes, how many cells got an apostrophe)"""
        lines: list[str] = []
        # A \r in a cell stands in quotes only where rows end with one.
        file = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n") + "\n"))
        made = csv.writer(file, delimiter=self._separator, lineterminator="\r\n")
        changed = 0
        for row in rows:
            cells = []
            for value in row:
                if isinstance(value, str):
                    safe = safe_cell(value)
                    changed += safe != value
                    cells.append(visible(safe) if self._shown else safe)
                else:
                    cells.append("" if value is None else f"{value:.6g}")
            made.writerow(cells)
        return self._pack("".join(lines).encode(errors="backslashreplace")), changed
