"""Rows may come from anybody: what is in them is looked at before it is used."""

from typing import Any

from gmpool.errors import UserError
from gmpool.record import Row

LARGEST = 1e60
"""Labels and outputs, in single precision, are far below; sums and squares are still numbers."""


def changed(row: Row, what: str) -> UserError:
    return UserError(
        f"the {what} in the row of {row.method} on {row.dataset}, seed {row.seed} fold "
        f"{row.fold}, cannot be read: the row was changed; take it out and run it again"
    )


def is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, kinds) and not isinstance(one, bool) for one in value
    )


def is_number(value: Any, least: float = -LARGEST, most: float = LARGEST) -> bool:
    """A number that is not beyond what can be, and not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
