"""What the model of a run said of its test graphs, as rows of users' own data keep it.

    {"task": "regression", "labels": ["logP"], "truth": "eJx…", "made": "eJx…"}

Both are numbers as `gmpool.packed_numbers` packs them, graph by graph, [n, T]. Of classes `made` is
the class that was said, and "classes" has their names; of two classes "margin" has by how much the
second was preferred, if the method says so, and of more "sure" the probability of what was said.
"line" is what calibrates yes/no labels or two classes: a and b for each, log odds z become a·z + b.
"deviation" has how unsure an ensemble was. "of" is how many test graphs there were, where not all
are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gmpool.packed_numbers import Array, pack_numbers, unpack_numbers
from gmpool.record import Row
from gmpool.report.row_checks import changed, is_list

MOST_NUMBERS = 4_000
"""Outputs of more are not kept, but of some graphs that are drawn: rows stay small."""
FEWEST_DRAWN = 100
"""Graphs; where there is no room for so many, none is kept."""
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
    sure: Array | None = None
    """float64 [n]: likewise."""
    line: Array | None = None
    """float64 [T, 2]: likewise."""
    deviation: Array | None = None
    """float64 [n, T], of classes [n, 1]: likewise."""
    graphs: int = 0
    """How many there were; n, or more."""

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
    sure: Array | None = None,
    line: Array | None = None,
    deviation: Array | None = None,
) -> dict[str, Any] | None:
    """What a row keeps of the outputs of its test part; None where there is no room for some, or
    where they are not all numbers.

    made: [n, T], of classes [n, C]; truth: [n, T], of classes [n], negative where it is not known.
    ranked: whether the outputs say how sure a class is. sure [n], line [T, 2], deviation [n, T] or
    of classes [n, 1]: as in `Outputs`.
    """
    of_classes = task == "multiclass"
    drawn = kept_graphs(task, truth)
    there = np.isfinite(made[labelled(task, truth)]).all()
    if not len(drawn) or len(classes) > MOST_CLASSES or not there:
        return None
    graphs = int(labelled(task, truth).sum())
    made, truth = made[drawn], truth[drawn]
    of_truth, of_made = KINDS[task]
    kept: dict[str, Any] = {"task": task, "labels": list(labels)}
    if of_classes:
        kept["classes"] = list(classes)
        if len(classes) == 2 and ranked:
            kept["margin"] = pack_numbers(made[:, 1] - made[:, 0], "<f4")
        elif sure is not None:
            kept["sure"] = pack_numbers(sure[drawn], "<f4")
        made = made.argmax(1)
    elif task == "binary":
        truth = np.where(np.isnan(truth), GAP, truth > 0.5)
    if line is not None and (task == "binary" or "margin" in kept):
        kept["line"] = [[float(f"{value:.6g}") for value in pair] for pair in line.tolist()]
    if deviation is not None:
        kept["deviation"] = pack_numbers(deviation[drawn], "<f4")
    if len(drawn) < graphs:
        kept["of"] = graphs
    return {**kept, "truth": pack_numbers(truth, of_truth), "made": pack_numbers(made, of_made)}


def labelled(task: str, truth: Array) -> Array:
    """Which graphs have a label at all; bool [n]"""
    return np.asarray(truth >= 0 if task == "multiclass" else ~np.isnan(truth).all(1))


def kept_graphs(task: str, truth: Array) -> Array:
    """The numbers of those with labels, or of so many of them, drawn always alike, as a row has
    room for. truth as in `packed_outputs`."""
    there = np.flatnonzero(labelled(task, truth))
    most = MOST_NUMBERS // (1 if truth.ndim == 1 else truth.shape[1])
    if len(there) <= most:
        return there
    if most < FEWEST_DRAWN:
        return there[:0]
    return np.sort(np.random.default_rng(0).permutation(there)[:most])


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
            margin = _floats(found, "margin", len(truth))
            if len(classes) != 2:
                raise ValueError("the margins do not fit")
    elif task == "binary":
        truth[truth == GAP] = np.nan
    shape = -1, len(labels)
    truth, made = truth.reshape(shape), made.reshape(shape)
    line = _line(found, len(labels)) if "line" in found and task != "regression" else None
    sure = _floats(found, "sure", len(truth)) if "sure" in found and of_classes else None
    if sure is not None and (sure.min() < 0 or sure.max() > 1):
        raise ValueError("a probability that cannot be")
    deviation = None
    if "deviation" in found:
        deviation = _floats(found, "deviation", truth.size).reshape(shape)
        if deviation.min() < 0:
            raise ValueError("a deviation that cannot be")
    graphs = found.get("of", len(truth))
    if type(graphs) is not int or graphs < len(truth):
        raise ValueError("fewer graphs than there are outputs")
    return Outputs(task, labels, classes, truth, made, margin, sure, line, deviation, graphs)


def _floats(found: Mapping[str, Any], name: str, count: int) -> Array:
    values = unpack_numbers(found[name], "<f4", count).astype(np.float64)
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f"{name} does not fit")
    return values


def _line(found: Mapping[str, Any], labels: int) -> Array:
    pairs = found["line"]
    if not is_list(pairs, list) or not all(is_list(pair, float, int) for pair in pairs):
        raise ValueError("the lines do not fit")
    if [len(pair) for pair in pairs] != [2] * labels:
        raise ValueError("the lines do not fit")
    line = np.array(pairs, np.float64)
    if not np.isfinite(line).all() or (np.abs(line) > 1e6).any():
        raise ValueError("a line that cannot be")
    return line
