"""What y may be: one column or several, with gaps, of classes or of numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.errors import DataError
from gmpool.estimators.columns import array_of, gaps, plain
from gmpool.plain_text import shortened

Array = NDArray[Any]
MOST = 1e15
"""Of a number to learn, and the least deviation is one part of it: its square is taken in single
precision."""
_LOST = 0.01
"""Of a column's deviation may be lost in single precision."""


class Columns(NamedTuple):
    """What was given for y."""

    table: Array  # [n, T]
    names: tuple[str, ...]
    is_flat: bool
    """Whether it had one dimension."""


def columns_of(y: Any, graphs: int) -> Columns:
    """One dimension is one column."""
    names: tuple[str, ...] = ()
    if hasattr(y, "columns"):
        names = tuple(map(str, y.columns))
    elif getattr(y, "name", None) is not None:
        names = (str(y.name),)
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None: a label per graph")
    values = array_of(y, "y")
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.shape[1]):
        raise DataError(f"y must be [n] or [n, labels], got shape {values.shape}")
    if len(values) != graphs:
        raise DataError(f"y has {len(values)} rows for {graphs} graphs in X; each needs one")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"y has two columns {twice!r}; give each a name of its own")
    table = values.reshape(len(values), -1)
    names = names if len(names) == table.shape[1] else _numbered(table.shape[1])
    return Columns(table, names, values.ndim == 1)


def _numbered(count: int) -> tuple[str, ...]:
    return ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))


def numbers(table: Array) -> NDArray[np.float64]:
    """Labels as float64, NaN where one is missing."""
    if table.dtype.kind in "biuf":
        found = table.astype(np.float64)
    else:
        found = np.full(table.shape, np.nan)
        for row, column in np.argwhere(~gaps(table)).tolist():
            found[row, column] = _number(table[row, column], row, column)
    if np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0]
        raise DataError(f"y, row {row}, column {column}: {found[row, column]} is no finite number")
    if np.isnan(found).all():
        raise DataError("y holds no label at all: every entry is missing")
    return found


def _number(value: Any, row: int, column: int) -> float:
    try:
        if isinstance(value, np.datetime64 | np.timedelta64 | np.complexfloating):
            raise TypeError("not of one dimension")
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"y must hold numbers, or NaN where one is missing; row {row}, column {column} is "
            f"{shortened(repr(plain(value)))}, a {type(value).__name__}"
        ) from error


def number_fields(table: Array, names: tuple[str, ...]) -> dict[str, Any]:
    """Of a regression, as PackedGraphs have them."""
    found = numbers(table)
    for column, values in enumerate(_of_columns(found, names)):
        _require_told_apart(values, f"y, column {column} ({names[column]!r})")
    y = torch.from_numpy(found.astype(np.float32))
    return {"y": y, "task": "regression", "task_names": names, "class_names": ()}


def _of_columns(found: NDArray[np.float64], names: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """The labels of each column that are there; raises for one without any."""
    each = [column[~np.isnan(column)] for column in found.T]
    for column, values in enumerate(each):
        if not len(values):
            raise DataError(
                f"y, column {column} ({names[column]!r}) holds no label at all; leave it out"
            )
    return each


def _require_told_apart(values: NDArray[np.float64], where: str) -> None:
    """Raises for numbers that single precision, in which is learned, cannot hold."""
    unit = "is beyond single precision; give it in another unit"
    farthest = float(values[np.abs(values).argmax()])
    largest = abs(farthest)
    if largest > MOST:
        raise DataError(f"{where}: {farthest:g} {unit}")
    spread = float(np.std(values / (largest or 1.0))) * largest
    if 0 < spread < 1 / MOST:
        raise DataError(f"{where}: a deviation of {spread:g} {unit}")
    lost = float(np.abs(values - values.astype(np.float32)).max())
    if spread and lost > _LOST * spread:
        raise DataError(
            f"{where}: numbers around {float(values.mean()):g} that differ by {spread:.3g} are not "
            "told apart in single precision; subtract their mean"
        )


def class_fields(table: Array, names: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
    """(of a classification, the classes in order). Two classes are no and yes; several columns
    hold 0, 1 or a gap each, and have classes each."""
    if table.shape[1] > 1:
        found = numbers(table)
        bad = ~(np.isnan(found) | np.isin(found, (0.0, 1.0)))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise DataError(
                f"y, row {row}, column {column}: {plain(table[row, column])!r} is not 0, 1 or "
                "missing; several columns are yes/no labels each"
            )
        _of_columns(found, names)
        return _answers(found, names), [np.array([0, 1]) for _ in names]
    classes, number = _numbered_classes(table)
    words = [f"{each:.17g}" if isinstance(each, float) else str(each) for each in classes.tolist()]
    if len(classes) == 2:
        (name,) = names
        is_yes = classes.dtype.kind in "biuf" and classes.tolist() == [0, 1]
        told = (name,) if is_yes else (f"{name}={words[1]}",)  # of which a probability is told
        return _answers(number.astype(np.float64)[:, None], told), classes
    fields = {"y": torch.from_numpy(number.astype(np.int64)), "task": "multiclass"}
    return {**fields, "task_names": names, "class_names": tuple(words)}, classes


def _numbered_classes(table: Array) -> tuple[Array, NDArray[np.int64]]:
    """The classes of one column in order, and the number of each label."""
    column, missing = table[:, 0], gaps(table)[:, 0]
    if missing.any():
        raise DataError(f"y, row {int(missing.argmax())}: no class; each graph needs one")
    mixed = "y mixes classes that cannot be ordered"
    if column.dtype.kind == "O":
        for row, value in enumerate(column):
            if isinstance(value, Collection) and not isinstance(value, str | bytes):
                said = shortened(repr(value))
                raise DataError(f"y, row {row}: {said} is no class; give words or numbers")
        kinds = {type(value) for value in column}
        if len({issubclass(kind, str) for kind in kinds}) > 1:
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise DataError(f"{mixed}: {names}; make them words all, or numbers all")
    try:
        classes, number = np.unique(column, return_inverse=True)
    except TypeError as error:
        raise DataError(f"{mixed}: {error}; give words or numbers") from error
    if classes.dtype.kind == "O":  # words all, numbers all or dates all
        classes = np.array(classes.tolist())
    if classes.dtype.kind == "f" and not np.array_equal(classes, np.round(classes)):
        raise DataError(
            f"Unknown label type: continuous. y holds numbers such as {_odd(classes):g}, which are "
            "no classes; take GraphRegressor"
        )
    if classes.dtype.kind == "c" or (classes.dtype.kind == "f" and np.isinf(classes).any()):
        bad = classes[~np.isfinite(classes) | np.iscomplex(classes)]
        raise DataError(f"y holds {plain((*bad, classes[0])[0])}, which is no class")
    if len(classes) < 2:
        what = classes.tolist()[0]
        raise DataError(f"y has one class only, {what!r}: there is nothing to tell apart")
    return classes, number.reshape(-1)


def _odd(classes: Array) -> float:
    return float(classes[classes != np.round(classes)][0])


def _answers(values: NDArray[np.float64], names: tuple[str, ...]) -> dict[str, Any]:
    y = torch.from_numpy(values.astype(np.float32))
    return {"y": y, "task": "binary", "task_names": names, "class_names": ()}
