"""What rows of users' own data say of them: how they were understood, and what is in each part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gmpool.record import Row
from gmpool.report.row_checks import changed, is_count, is_list, is_number

PARTS = ("train", "valid", "test")
KINDS = ("multiclass", "binary", "regression")


@dataclass(frozen=True)
class Part:
    graphs: int
    labels: Sequence[Sequence[float]]
    """Of each label column: yes, no and gaps; the count of each class and gaps; or how many numbers
    there are, their mean, deviation, least and most."""


@dataclass(frozen=True)
class Data:
    understood: Sequence[str]
    """In plain lines."""
    task: str
    labels: Sequence[str]
    """The first of `label_count` columns."""
    label_count: int
    classes: Sequence[str]
    parts: Mapping[str, Part]
    """Of one run, by PARTS."""


def is_own(row: Row) -> bool:
    """Whether a row is of users' own data, whatever they are called; rows from before that say so
    by the outputs that they keep."""
    return "data" in row.more or "outputs" in row.more


def recorded_data(row: Row) -> Data | None:
    """None where the row says nothing. Rows may come from anybody: what does not fit raises."""
    found = row.more.get("data")
    if found is None:
        return None
    read = _read(found)
    if read is None:
        raise changed(row, "description of the data")
    return read


def _read(found: Any) -> Data | None:
    if not isinstance(found, Mapping) or found.get("task") not in KINDS:
        return None
    names = [found.get(name, []) for name in ("understood", "labels", "classes")]
    if not all(is_list(each, str) for each in names) or not is_count(found.get("of")):
        return None
    parts = found.get("parts")
    if not isinstance(parts, Mapping) or set(parts) != set(PARTS):
        return None
    understood, labels, classes = names
    of = found["task"], max(len(labels), 1), len(classes)
    if not all(_is_sound(part, *of) for part in parts.values()):
        return None
    made = {name: Part(parts[name]["graphs"], parts[name]["labels"]) for name in PARTS}
    return Data(understood, found["task"], labels, found["of"], classes, made)


def _is_sound(part: Any, task: str, labels: int, classes: int) -> bool:
    """Whether it has as many columns as there are labels, of numbers that can be."""
    if not isinstance(part, Mapping) or not is_count(part.get("graphs")):
        return False
    columns: Any = part.get("labels")
    if not is_list(columns, list) or len(columns) != labels:
        return False
    if task == "regression":
        return all(column == [0] or _are_numbers(column, part["graphs"]) for column in columns)
    counts = {"binary": 3, "multiclass": classes + 1}[task]
    return all(
        len(column) == counts and all(map(is_count, column)) and sum(column) <= part["graphs"]
        for column in columns
    )


def _are_numbers(column: list[Any], graphs: int) -> bool:
    """How many there are, their mean, deviation, least and most."""
    if len(column) != 5 or not all(map(is_number, column)):
        return False
    return is_count(column[0]) and 0 < column[0] <= graphs and column[2] >= 0
