"""What the model of a run said of its test graphs, as rows of users' own data keep it.

    {"task": "regression", "labels": ["logP"], "truth": "eJx…", "made": "eJx…"}

Both are numbers as `gmpool.packed_numbers` packs them, graph by graph, [n, T]. Of classes `made` is
the class that was said, and "classes" has their names; of two classes "margin" has by how much the
second was preferred, if the method says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gmpool.packed_numbers import Array, pack_numbers, unpack_numbers
from gmpool.record import Row
from gmpool.report.by_label import changed, is_list

MOST_NUMBERS = 4_000
"""Outputs of more are not kept: rows stay small."""
MOST_CLASSES = 20
"""Of more there is no legible picture."""
GAP = 2
"""Stands in `truth` for a yes or no that is not known."""
KINDS = {"regression": ("<f4", "<f4"), "binary": ("<u1", "<f4"), "multiclass": ("<u1", "<u1")}
"""As which truth and made are kept."""


@dataclass(frozen=True)
class Outputs:
    """Of the test graphs of one run that have labels."""

    task: str
    """multiclass, binary or regression."""
    labels: Sequence[str]
    """The label columns, T of them."""
    classes: Sequence[str]
    """Multiclass: what the classes are called; else ()."""
    truth: Array
    """float64 [n, T], NaN where it is not known. Yes is 1, a class its number."""
    made: Array
    """float64 [n, T], in the unit of the labels; of a binary label above 0 for yes."""
    margin: Array | None = None
    """float64 [n]: see above."""

    @property
    def of(self) -> tuple[Any, ...]:
        """What is alike in runs whose outputs can be shown together."""
        return self.task, tuple(self.labels), tuple(self.classes)


def packed_outputs(
    task: str,
    labels: Sequence[str],
    classes: Sequence[str],
    made: Array,
    truth: Array,
    *,
    ranked: bool = True,
) -> dict[str, Any] | None:
    """What a row keeps of the outputs of its test part; None where they are too many, or not all
    numbers.

    made: [n, T], of classes [n, C]; truth: [n, T], of classes [n], negative where it is not known.
    ranked: whether the outputs say how sure a class is.
    """
    of_classes = task == "multiclass"
    there = truth >= 0 if of_classes else ~np.isnan(truth).all(1)
    made, truth = made[there], truth[there]
    too_many = truth.size > MOST_NUMBERS or len(classes) > MOST_CLASSES
    if too_many or not truth.size or not np.isfinite(made).all():
        return None
    of_truth, of_made = KINDS[task]
    kept: dict[str, Any] = {"task": task, "labels": list(labels)}
    if of_classes:
        kept["classes"] = list(classes)
        if len(classes) == 2 and ranked:
            kept["margin"] = pack_numbers(made[:, 1] - made[:, 0], "<f4")
        made = made.argmax(1)
    elif task == "binary":
        truth = np.where(np.isnan(truth), GAP, truth > 0.5)
    return {**kept, "truth": pack_numbers(truth, of_truth), "made": pack_numbers(made, of_made)}


def recorded_outputs(row: Row) -> Outputs | None:
    """None where the row keeps none. Rows may come from anybody: what is not as `packed_outputs`
    makes it raises."""
    found = row.more.get("outputs")
    if found is None:
        return None
    try:
        return _read(found)
    except ValueError as error:
        raise changed(row, "test outputs") from error


def _read(found: Any) -> Outputs:
    if not isinstance(found, Mapping) or found.get("task") not in [*KINDS]:
        raise ValueError("it says no task")
    task, labels, classes = found["task"], found.get("labels"), found.get("classes", [])
    of_classes = task == "multiclass"
    names_fit = is_list(labels, str) and is_list(classes, str)
    if not names_fit or not labels or bool(classes) != of_classes or len(classes) > MOST_CLASSES:
        raise ValueError("the names do not fit")
    truth, made = (
        unpack_numbers(found.get(name), kind, MOST_NUMBERS).astype(np.float64)
        for name, kind in zip(("truth", "made"), KINDS[task], strict=True)
    )
    if not 0 < len(truth) == len(made) or len(truth) % len(labels) or np.isinf(truth).any():
        raise ValueError("the numbers do not fit")
    if not np.isfinite(made).all():
        raise ValueError("not all outputs are numbers")
    values = len(classes) if of_classes else GAP + 1
    if task != "regression" and truth.max() >= values:
        raise ValueError("a label that cannot be")
    margin = None
    if of_classes:
        if len(labels) > 1 or made.max() >= values:
            raise ValueError("a class that cannot be")
        if "margin" in found:
            margin = unpack_numbers(found["margin"], "<f4", len(truth)).astype(np.float64)
            if len(classes) != 2 or len(margin) != len(truth) or not np.isfinite(margin).all():
                raise ValueError("the margins do not fit")
    elif task == "binary":
        truth[truth == GAP] = np.nan
    shape = -1, len(labels)
    return Outputs(task, labels, classes, truth.reshape(shape), made.reshape(shape), margin)
