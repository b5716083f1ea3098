"""What stands beside graphs, such as labels and weights, as arrays: whatever holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmpool.errors import DataError, WrongType

Array = NDArray[Any]
UNORDERED = (str, bytes, Mapping, Set)
"""Not one entry for each graph, in their order."""


def array_of(values: Any, name: str) -> Array:
    """An array of what was given, nothing of which is taken for something else: words stay words
    and gaps stay gaps. name: for messages."""
    is_many = hasattr(values, "__iter__") or hasattr(values, "__array__")
    if isinstance(values, UNORDERED) or not is_many:
        raise WrongType(f"{name} has one entry for each graph, got {type(values).__name__}")
    if hasattr(values, "detach"):
        return _of_tensor(values)
    if hasattr(values, "toarray"):  # a sparse one
        return np.asarray(values.toarray())
    if hasattr(values, "to_numpy"):  # a Series or DataFrame
        return np.asarray(values.to_numpy())
    if isinstance(values, Iterator):
        values = list(values)
    if isinstance(values, list | tuple) and any(hasattr(one, "detach") for one in values):
        values = [_of_tensor(one) if hasattr(one, "detach") else one for one in values]
    try:
        found = np.asarray(values)
        if found.dtype.kind in "US" and not isinstance(values, np.ndarray):
            # NumPy makes words of what stands among words, also of gaps.
            each = np.array(values, dtype=object)
            found = found if all(isinstance(one, str | bytes) for one in each.flat) else each
    except ValueError as error:
        raise DataError(f"{name} has rows of different lengths; give each as many") from error
    return found


def _of_tensor(tensor: Any) -> Array:
    there = tensor.detach().cpu().to_dense()
    return np.asarray((there.double() if there.is_floating_point() else there).numpy())


def plain(value: Any) -> Any:
    """A number of NumPy's as Python has it, which files can hold."""
    return value.item() if isinstance(value, np.generic) else value


def gaps(table: Array) -> NDArray[np.bool_]:
    """Where nothing is: None, NaN, and what pandas has for them."""
    if table.dtype.kind in "biuUS":
        return np.zeros(table.shape, np.bool_)
    if table.dtype.kind == "O":
        flat = [is_gap(value) for value in table.flat]
        return np.array(flat, np.bool_).reshape(table.shape)
    return np.asarray(table != table)


def is_gap(value: Any) -> bool:
    """Also pandas' NA and NaT, which is no reason to import it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number | np.generic) and bool(value != value)
