"""How often intervals and sets held the truth in the test part, as rows of users' own data keep it.

    {"held_out": 64, "promised": [0.5, 0.9], "share": [[0.55, 0.91]], "width": [[1.2, 3.4]]}

Shares and widths are told label column by label column: the median width of an interval, the mean
number of answers in a set. They are null where the test part has no label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gmpool.record import Row
from gmpool.report.row_checks import changed, is_list

MOST = 20
"""Coverages."""


@dataclass(frozen=True)
class Held:
    """Of one run."""

    held_out: int
    """Graphs that intervals rest on."""
    promised: Sequence[float]
    share: Sequence[Sequence[float | None]]
    """[T, k], of 1."""
    width: Sequence[Sequence[float | None]]
    """[T, k]"""


def recorded_sureness(row: Row) -> Held | None:
    """None where the row says nothing. Rows may come from anybody: what does not fit raises."""
    found = row.more.get("sureness")
    if found is None:
        return None
    if not _is_sound(found):
        raise changed(row, "shares inside intervals")
    return Held(found["held_out"], found["promised"], found["share"], found["width"])


def _is_sound(found: Any) -> bool:
    if not isinstance(found, Mapping) or type(found.get("held_out")) is not int:
        return False
    promised: Any = found.get("promised")
    if not is_list(promised, float) or len(promised) > MOST:
        return False
    if not all(0 < coverage < 1 for coverage in promised):
        return False
    lists: list[Any] = [found.get(name) for name in ("share", "width")]
    return all(
        is_list(each, list)
        and len(each) == len(lists[0])
        and all(is_list(of, float, int, type(None)) and len(of) == len(promised) for of in each)
        for each in lists
    )
