"""Columns of numbers from text, fast; when something is wrong, the line it is on."""

from __future__ import annotations

import io
import warnings
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from gmpool.errors import DataError

_BLOCK = 1 << 24  # bytes; a set of 360 MB of text is read without ever holding it


def read_numbers(
    file: IO[bytes], where: str, dtype: type[np.generic], columns: int | None = None
) -> NDArray[np.generic]:
    """[lines, columns] from comma-separated text; ``columns=None`` takes the first line's count."""
    blocks: list[NDArray[np.generic]] = []
    rest, done = b"", 0
    while block := file.read(_BLOCK):
        whole, newline, rest = (rest + block).rpartition(b"\n")
        if newline:
            blocks.append(_parse(whole, where, dtype, columns, done))
            columns, done = blocks[-1].shape[1], done + len(blocks[-1])
    if rest.strip():
        blocks.append(_parse(rest, where, dtype, columns, done))
    if not sum(len(b) for b in blocks):
        raise DataError(f"{where}: the file is empty")
    return np.concatenate(blocks)


def _parse(
    text: bytes, where: str, dtype: type[np.generic], columns: int | None, done: int
) -> NDArray[np.generic]:
    text = text.rstrip()
    lines = text.count(b"\n") + 1 if text else 0
    if columns is None:
        columns = text.partition(b"\n")[0].count(b",") + 1
    if lines == 0:
        return np.empty((0, columns), dtype)
    # Every line break becomes a comma, so the count of commas per line is checked by the total
    # here and line by line only when the total is wrong.
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            kind = np.int64 if issubclass(dtype, np.integer) else np.float64
            values = np.fromstring(text.replace(b"\n", b","), dtype=kind, sep=",")
        except (DeprecationWarning, ValueError):
            _explain(text, where, dtype, columns, done)
    if len(values) != lines * columns or text.count(b",") != lines * (columns - 1):
        _explain(text, where, dtype, columns, done)
    table = values.reshape(lines, columns)
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"{where}:{done + row + 1}: value {column + 1} is {table[row, column]}, not a number"
        )
    return table.astype(dtype)


def _explain(text: bytes, where: str, dtype: type[np.generic], columns: int, done: int) -> NoReturn:
    """Finds the first bad line and says what is wrong with it."""
    whole = issubclass(dtype, np.integer)
    for number, line in enumerate(io.BytesIO(text), start=done + 1):
        tokens = line.decode(errors="replace").strip().split(",")
        if tokens == [""]:
            raise DataError(f"{where}:{number}: the line is blank")
        for token in tokens:
            try:
                int(token) if whole else float(token)
            except ValueError:
                kind = "a whole number" if whole else "a number"
                raise DataError(f"{where}:{number}: {token.strip()!r} is not {kind}") from None
        if len(tokens) != columns:
            raise DataError(f"{where}:{number}: {len(tokens)} values, expected {columns}")
    raise DataError(f"{where}: cannot be read as lines of {columns} numbers")
