"""How much each graph counts, by itself and by its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.errors import DataError, UserError
from gmpool.estimators.columns import array_of, plain
from gmpool.plain_text import shortened

Floats = NDArray[np.float64]


def sample_weights(given: Any, graphs: int) -> Floats | None:
    """[n], the largest 1; None where nothing is given. Only their proportions mean something."""
    if given is None:
        return None
    what = "sample_weight must hold numbers of 0 or more that are not all zero"
    table = array_of(given, "sample_weight")
    if table.shape != (graphs,):
        raise DataError(f"sample_weight has shape {table.shape} for {graphs} graphs in X")
    if table.dtype.kind not in "biufO":
        raise DataError(f"{what}; row 0 is {plain(table[0])!r}")
    found = np.array([_number(value) for value in table])
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(f"{what}; row {row} is {shortened(repr(plain(table[row])))}")
    if not found.any():
        raise DataError(what)
    return found / found.max()


def weights(
    sample_weight: Any, class_weight: Any, classes: Any, fields: Mapping[str, Any]
) -> torch.Tensor | None:
    """How much each graph counts. [n] class_weight: a dict from class to weight; fields: labels as
    PackedGraphs have them."""
    found = sample_weights(sample_weight, len(fields["y"]))
    if isinstance(class_weight, Mapping):
        found = _by_class(class_weight, classes, fields["y"]) * (1.0 if found is None else found)
        if not found.any():
            raise UserError(f"class_weight={dict(class_weight)} leaves no graph any weight")
        found /= found.max()
    if found is None:
        return None
    found = found.astype(np.float32)  # of which the least may become 0
    if classes is not None and not isinstance(classes, list):
        number = fields["y"].flatten().long().numpy()
        if len(np.unique(number[found > 0])) < 2:
            raise DataError("all weight is on one class: there is nothing to tell apart")
    else:
        counts = ~torch.isnan(fields["y"]).numpy() & (found > 0)[:, None]
        if not counts.any(0).all():
            column = int(counts.any(0).argmin())
            raise DataError(
                f"y, column {column} ({fields['task_names'][column]!r}) holds no label that has a "
                "weight; leave it out, or give its graphs more"
            )
    return torch.from_numpy(found)


def _number(value: Any) -> float:
    """NaN of what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _by_class(given: Mapping[Any, Any], classes: Any, y: torch.Tensor) -> Floats:
    """[n]"""
    if isinstance(classes, list):
        raise UserError(
            "class_weight by class is for one label; for several take class_weight='balanced' or "
            "sample_weight"
        )
    known = classes.tolist()
    for key, value in given.items():
        if key not in known:
            raise UserError(f"class_weight names {key!r}, which is no class of y ({known})")
        if not 0 <= _number(value) < np.inf:
            got = shortened(repr(value))
            raise UserError(f"class_weight of {key!r} is a number of 0 or more, got {got}")
    of_class = np.array([float(given.get(each, 1.0)) for each in known])
    return np.asarray(of_class[y.flatten().long().numpy()])
