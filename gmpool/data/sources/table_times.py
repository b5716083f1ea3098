"""A column of a table as times: ISO dates, years, or any numbers that grow."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import torch

from gmpool.data.ordered_splits import Times
from gmpool.data.sources.table_cells import is_missing
from gmpool.data.sources.table_columns import Table, shown

_YEAR = re.compile(r"[0-9]{4}")
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_times(table: Table, at: int) -> tuple[np.ndarray, dict[int, str]]:
    """(float64 [R], and row -> why it has no time). All cells are numbers, or all are dates."""
    numbers, cells = table.numbers(at), table.column(at)
    values = np.array([_moment(cell.strip()) for cell in cells])
    filled = np.array([not is_missing(cell) for cell in cells])
    if not numbers.wrong or (numbers.numeric and np.isnan(values[filled]).any()):
        values = numbers.values
    name = repr(table.header[at])
    wrong = {}
    for row in np.flatnonzero(np.isnan(values)).tolist():
        wrong[row] = (
            f"time {shown(cells[row])} in column {name} is no ISO date such as 2024-05-31, no year "
            "and no number"
            if filled[row]
            else f"no time in column {name}"
        )
    return values, wrong


def times_of(table: Table, at: int, values: np.ndarray, rows: Sequence[int]) -> Times:
    """Of some rows."""
    words = tuple(table.rows[row][at].strip() for row in rows)
    return Times(table.header[at], torch.from_numpy(values[list(rows)]), words)


def _moment(text: str) -> float:
    """Seconds from 1970 on, of a time without a zone in UTC; NaN of what is no date."""
    if _YEAR.fullmatch(text):
        text += "-01-01"
    elif _MONTH.fullmatch(text):
        text += "-01"
    elif not _DAY.fullmatch(text):
        return math.nan
    try:
        found = datetime.fromisoformat(text)
        zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
        return (zoned - _EPOCH) / timedelta(seconds=1)
    except (ValueError, OverflowError):
        return math.nan
