"""Lines of comma-separated numbers, as the TU text format has them, with every value checked."""

import io
import re
import warnings
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gmpool.errors import DataError

_BLOCK = 1 << 24  # bytes; a set of 360 MB of text is read without ever holding it
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_IN_WHOLE = b"0123456789+- \t\r"
_IN_FLOAT = _IN_WHOLE + b".eE"


def read_numbers(
    file: IO[bytes], where: str, dtype: type[np.generic], columns: int | None = None
) -> NDArray[Any]:
    """[lines, columns] from comma-separated text; ``columns=None`` takes the first line's count.

    What does not fit the type, is no number or stands on a line of another length is an error.
    """
    blocks: list[NDArray[Any]] = []
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
) -> NDArray[Any]:
    text = text.rstrip()
    lines = text.count(b"\n") + 1 if text else 0
    if columns is None:
        columns = text.partition(b"\n")[0].count(b",") + 1
    if lines == 0:
        return np.empty((0, columns), dtype)
    # What separates the numbers must be what separates them on `lines` lines of `columns` each:
    # the parser below takes line breaks for commas, and would not see a line that is too long
    # after one that is too short.
    whole = issubclass(dtype, np.integer)
    separators = text.translate(None, _IN_WHOLE if whole else _IN_FLOAT)
    if separators + b"\n" != (b"," * (columns - 1) + b"\n") * lines:
        _explain(text, where, dtype, columns, done)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            kind = np.int64 if whole else np.float64
            values = np.fromstring(text.replace(b"\n", b","), dtype=kind, sep=",")
        except (DeprecationWarning, ValueError):
            _explain(text, where, dtype, columns, done)
    if len(values) != lines * columns or not _fits(values, dtype):
        _explain(text, where, dtype, columns, done)
    return values.astype(dtype).reshape(lines, columns)


def _fits(values: NDArray[Any], dtype: type[np.generic]) -> bool:
    """Whether the type holds all values. The parser makes of a number beyond int64 the last one
    of that type, which therefore does not count as fitting."""
    low, high = values.min(), values.max()
    if issubclass(dtype, np.integer):
        ends = np.iinfo(dtype)
        return bool(ends.min < low and high < ends.max)
    return bool(max(abs(low), abs(high)) <= np.finfo(np.dtype(dtype)).max)  # false for NaN


def _explain(text: bytes, where: str, dtype: type[np.generic], columns: int, done: int) -> NoReturn:
    """Finds the first bad line and says what is wrong with it."""
    for number, line in enumerate(io.BytesIO(text), start=done + 1):
        tokens = line.decode(errors="replace").strip().split(",")
        if tokens == [""]:
            raise DataError(f"{where}:{number}: the line is blank")
        for token in tokens:
            if problem := _problem(token, dtype):
                raise DataError(f"{where}:{number}: {_shown(token)} {problem}")
        if len(tokens) != columns:
            raise DataError(f"{where}:{number}: {len(tokens)} values, expected {columns}")
    raise DataError(f"{where}: cannot be read as lines of {columns} numbers")


def _problem(token: str, dtype: type[np.generic]) -> str | None:
    if issubclass(dtype, np.integer):
        if not _WHOLE.fullmatch(token):
            return "is not a whole number"
        # Python refuses to make an integer of thousands of digits.
        small = len(token.strip()) < 30 and _fits(np.array([int(token)], dtype=object), dtype)
        return None if small else f"is beyond the range of {np.dtype(dtype)}"
    try:
        value = float(token) if token.isascii() and "_" not in token else None
    except ValueError:
        value = None
    if value is None:
        return "is not a number"
    if not np.isfinite(value) and any(letter in token.lower() for letter in "nif"):
        return "is not a finite number"
    return None if _fits(np.array([value]), dtype) else f"is beyond the range of {np.dtype(dtype)}"


def _shown(token: str) -> str:
    token = token.strip()
    return repr(token if len(token) <= 40 else token[:40] + "…")
