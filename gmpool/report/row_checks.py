"""Rows may come from anybody: what is in them is looked at before it is used."""

from typing import Any

from gmpool.errors import UserError
from gmpool.record import Row


def changed(row: Row, what: str) -> UserError:
    return UserError(
        f"the {what} in the row of {row.method} on {row.dataset}, seed {row.seed} fold "
        f"{row.fold}, cannot be read: the row was changed; take it out and run it again"
    )


def is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, kinds) and not isinstance(one, bool) for one in value
    )
