"""What y may be: one column or several, with gaps, of classes or of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.errors import DataError, UserError

Array = NDArray[Any]


def columns_of(y: Any, graphs: int) -> tuple[Array, tuple[str, ...]]:
    """([n, T], the names of its columns) of what was given for y; one dimension is one column."""
    names: tuple[str, ...] = ()
    if hasattr(y, "columns"):
        names = tuple(map(str, y.columns))
    elif getattr(y, "name", None) is not None:
        names = (str(y.name),)
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None: a label per graph")
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.shape[1]):
        raise DataError(f"y must be [n] or [n, labels], got shape {values.shape}")
    if len(values) != graphs:
        raise DataError(f"y has {len(values)} rows for {graphs} graphs in X; each needs one")
    table = values.reshape(len(values), -1)
    return table, names if len(names) == table.shape[1] else _numbered(table.shape[1])


def _numbered(count: int) -> tuple[str, ...]:
    return ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))


def numbers(table: Array) -> NDArray[np.float64]:
    """Labels as float64, NaN where one is missing."""
    try:
        found = np.array([[np.nan if v is None else v for v in row] for row in table], np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers, or NaN where one is missing: {error}") from error
    if np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0]
        raise DataError(f"y, row {row}, column {column}: {found[row, column]} is no finite number")
    if np.isnan(found).all():
        raise DataError("y holds no label at all: every entry is missing")
    return found


def number_fields(table: Array, names: tuple[str, ...]) -> dict[str, Any]:
    """Of a regression, as PackedGraphs have them."""
    y = torch.from_numpy(numbers(table).astype(np.float32))
    return {"y": y, "task": "regression", "task_names": names, "class_names": ()}


def class_fields(table: Array, names: tuple[str, ...]) -> tuple[dict[str, Any], Array]:
    """(of a classification, the classes in order). Two classes are no and yes; several columns
    hold 0, 1 or a gap each."""
    if table.shape[1] > 1:
        found = numbers(table)
        bad = ~(np.isnan(found) | np.isin(found, (0.0, 1.0)))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise DataError(
                f"y, row {row}, column {column}: {table[row, column]!r} is not 0, 1 or missing; "
                "several columns are yes/no labels each"
            )
        return _answers(found, names), np.array([0, 1])
    column = table[:, 0]
    missing = np.array([value is None or value != value for value in column])
    if missing.any():
        raise DataError(f"y, row {int(missing.argmax())}: no class; each graph needs one")
    try:
        classes, number = np.unique(column, return_inverse=True)
    except TypeError as error:
        raise DataError(f"y mixes classes that cannot be ordered: {error}") from error
    if len(classes) < 2:
        raise DataError(f"y has one class only, {classes[0]!r}: there is nothing to tell apart")
    if classes.dtype.kind == "f" and not np.array_equal(classes, np.round(classes)):
        raise DataError(
            f"Unknown label type: continuous. y holds numbers such as {classes[0]:g}, which are "
            "no classes; take GraphRegressor"
        )
    if len(classes) == 2:
        return _answers(number.astype(np.float64)[:, None], names), classes
    fields = {"y": torch.from_numpy(number.astype(np.int64)), "task": "multiclass"}
    words = tuple(map(str, classes.tolist()))
    return {**fields, "task_names": names, "class_names": words}, classes


def _answers(values: NDArray[np.float64], names: tuple[str, ...]) -> dict[str, Any]:
    y = torch.from_numpy(values.astype(np.float32))
    return {"y": y, "task": "binary", "task_names": names, "class_names": ()}


def weights(
    sample_weight: Any, class_weight: Any, classes: Array | None, fields: Mapping[str, Any]
) -> torch.Tensor | None:
    """How much each graph counts. [n] class_weight: a dict from class to weight."""
    count = len(fields["y"])
    made = None
    if sample_weight is not None:
        found = np.asarray(sample_weight, dtype=np.float64)
        if found.shape != (count,):
            raise DataError(f"sample_weight has shape {found.shape} for {count} graphs in X")
        if not (np.isfinite(found) & (found >= 0)).all() or not found.any():
            raise DataError("sample_weight must hold numbers of 0 or more that are not all zero")
        made = torch.from_numpy(found.astype(np.float32))
    if not isinstance(class_weight, Mapping):
        return made
    if classes is None or (fields["y"].dim() == 2 and fields["y"].shape[1] > 1):
        raise UserError(
            "class_weight by class is for one label; for several take class_weight='balanced' or "
            "sample_weight"
        )
    unknown = [key for key in class_weight if key not in classes.tolist()]
    if unknown:
        raise UserError(
            f"class_weight names {unknown[0]!r}, which is no class of y ({classes.tolist()})"
        )
    of_class = torch.tensor([float(class_weight.get(each, 1.0)) for each in classes.tolist()])
    each = of_class[fields["y"].flatten().long()]
    return each if made is None else each * made
