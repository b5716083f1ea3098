"""The worst mistakes of a run in its test part, as rows of users' own data keep them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gmpool.record import Row
from gmpool.report.row_checks import changed, is_count, is_list, is_number

MOST = 100
"""Of one row."""
LONGEST = 1000
"""Characters of a SMILES."""


@dataclass(frozen=True)
class Mistake:
    label: str
    graph: int
    """Its number in the set, counted from 0."""
    truth: str | float
    said: str | float
    line: int | None = None
    """Of the table."""
    smiles: str | None = None
    probability: float | None = None
    """Of what was said; of classes that a method is sure of."""
    deviation: float | None = None
    """Of an ensemble: what is thought of the error of a number, or how members differ."""

    @property
    def error(self) -> float | None:
        """By how much a number is too large."""
        if isinstance(self.truth, str) or isinstance(self.said, str):
            return None
        return self.said - self.truth

    @property
    def badness(self) -> float:
        """By which mistakes of one label column are sorted."""
        return self.probability or 0.0 if self.error is None else abs(self.error)

    @property
    def place(self) -> str:
        return f"graph {self.graph}" if self.line is None else f"line {self.line:,}"

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


def _is_value(value: Any) -> bool:
    return isinstance(value, str) or is_number(value)


_FITS: dict[str, Callable[[Any], bool]] = {
    "label": lambda v: isinstance(v, str),
    "graph": is_count,
    "truth": _is_value,
    "said": _is_value,
    "line": is_count,
    "smiles": lambda v: isinstance(v, str) and len(v) <= LONGEST,
    "probability": lambda v: is_number(v, 0, 1),
    "deviation": lambda v: is_number(v, 0),
}
_NEEDED = {"label", "graph", "truth", "said"}


def recorded_mistakes(row: Row) -> list[Mistake] | None:
    """None where the row keeps none, as rows from before that. Rows may come from anybody: what
    does not fit raises."""
    found = row.more.get("mistakes")
    if found is None:
        return None
    if not is_list(found, Mapping) or len(found) > MOST or not all(map(_is_sound, found)):
        raise changed(row, "mistakes")
    return [Mistake(**each) for each in found]


def _is_sound(found: Mapping[str, Any]) -> bool:
    return (
        found.keys() >= _NEEDED
        and found.keys() <= _FITS.keys()
        and all(_FITS[name](value) for name, value in found.items())
        and isinstance(found["truth"], str) == isinstance(found["said"], str)
    )
