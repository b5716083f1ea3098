"""Settings of a model as a file has them, which anybody may have written."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from gmpool.config import TrainConfig, assemble
from gmpool.errors import UserError, WrongType, unknown
from gmpool.tasks.graph_task import declared_types

MOST, MOST_LAYERS, LONGEST = 2**16, 1000, 200
"""No model is wider, deeper, or has an option in more letters; what is greater would take a long
time only to be found wrong."""
M = TypeVar("M")


def read_settings(
    kind: type[M], values: object, options: Callable[[str], Mapping[str, inspect.Parameter]]
) -> M:
    """kind: of the configuration, with fields method and pool. options: those of a method."""
    if not isinstance(values, Mapping):
        raise WrongType(f"model must be an object, got {values!r:.60}")
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            raise unknown("setting of a model", key, known)
    method, pool = values.get("method"), values.get("pool", {})
    if not isinstance(method, str):
        raise WrongType(f"model.method must be text, got {method!r:.60}")
    if not isinstance(pool, Mapping):
        raise WrongType(f"model.pool must be an object, got {pool!r:.60}")
    settings = {k: v for k, v in values.items() if k not in ("method", "pool")}
    for key, value in [*settings.items(), *pool.items()]:
        _check(key, value)
    settings |= {f"pool.{key}": value for key, value in pool.items()}
    first: Any = kind
    types = declared_types(options(method))
    return assemble(first(method=method), TrainConfig(), settings, types)[0]


def _check(key: str, value: object) -> None:
    if isinstance(value, str):
        if len(value) > LONGEST or not value.isprintable() or value[:1] in tuple("+-.0123456789"):
            raise UserError(f"option {key} is no word: {value!r:.60}")
    elif isinstance(value, int | float):
        most = MOST_LAYERS if key.endswith("layers") else MOST
        if key == "dropout" and not 0 <= value < 1:
            raise UserError(f"option dropout must lie in [0, 1), got {value!r:.60}")
        if not -most <= value <= most:
            raise UserError(f"option {key} must lie within ±{most}, got {value!r:.60}")
    elif value is not None:
        raise WrongType(f"option {key} must be a number, a word or null, got {value!r:.60}")
