"""How often intervals and sets held the truth in the test part, as rows of users' own data keep it.

    {"held_out": 64, "promised": [0.5, 0.9], "share": [[0.55, 0.91]], "width": [[1.2, 3.4]]}

Shares and widths are told label column by label column: the median width of an interval, the mean
number of answers in a set. They are null where the test part has no label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gmpool.record import Row
from gmpool.report.row_checks import LARGEST, changed, is_count, is_list, is_number

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
    if not isinstance(found, Mapping) or not is_count(found.get("held_out")):
        return False
    promised: Any = found.get("promised")
    if not is_list(promised, float) or len(promised) > MOST:
        return False
    if not all(0 < coverage < 1 for coverage in promised) or len({*promised}) < len(promised):
        return False
    shares: Any = found.get("share")
    widths: Any = found.get("width")
    return (
        _are_lists(shares, len(promised), most=1.0)
        and _are_lists(widths, len(promised), most=LARGEST)
        and len(shares) == len(widths)
    )


def _are_lists(found: Any, count: int, most: float) -> bool:
    """Of so many numbers from 0, or null, for each label column."""
    return is_list(found, list) and all(
        len(of) == count and all(value is None or is_number(value, 0, most) for value in of)
        for of in found
    )
