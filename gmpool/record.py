"""What is recorded of a finished run: the rows of a run store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Row:
    """One finished run. `from_json` and `to_json` lose nothing."""

    key: str
    """The digest of all that the run is a function of."""
    task: str
    dataset: str
    method: str
    seed: int
    fold: int
    metric: str
    """Of what `test` and `valid` are."""
    test: float | None
    """None where the metric is not defined, as ROC-AUC with one class."""
    valid: float | None
    valid_loss: float | None
    best_epoch: int
    epochs: int
    seconds: float
    parameters: int
    config: Mapping[str, Any]
    """{"model": {…, "pool": {…}}, "train": {…}}: all settings, the default ones as well."""
    data_digest: str
    split_digest: str
    commit: str | None
    """None outside of a checkout."""
    versions: Mapping[str, str]
    device: str
    curve: Mapping[str, Any]
    """The learning curve: train_loss, valid_loss, valid_metric, a number or None per epoch."""
    replicas: int | None = None
    """How many trainings were one program; None in rows from before that, which were alone."""
    source: str | None = None
    """The digest of the package's source; None in rows that do not say."""
    precision: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else the task records."""

    @property
    def model(self) -> Mapping[str, Any]:
        return self.config["model"]

    @property
    def train(self) -> Mapping[str, Any]:
        return self.config["train"]

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Row:
        """A ValueError names the field that is missing, of another type or out of its range."""
        if not isinstance(found, Mapping):
            raise ValueError(f"expected an object (got {type(found).__name__})")
        missing = [name for name in _REQUIRED if name not in found]
        if missing:
            raise ValueError(f"{missing[0]} is missing")
        for name in _KINDS.keys() & found.keys():
            _check(name, found[name], _KINDS[name])
        _check_plain("", found)
        for name, least in _LEAST.items():
            value = found.get(name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least} (got {value!r:.60})")
        model, train = (_part(found, f"config.{part}") for part in ("model", "train"))
        _part(found, "config.model.pool", {})
        _check("config.model.method", model.get("method"), (str,))
        epochs = train.get("epochs", 1)
        if not _is_number(epochs) or epochs < 1:
            raise ValueError(f"config.train.epochs must be at least 1 (got {epochs!r:.60})")
        _check_curve(found["curve"])
        _check("selection_score", found.get("selection_score"), (float, int, type(None)))
        for name, value in found["versions"].items():
            _check(f"versions.{name}", value, (str,))
        known = {name: found[name] for name in _KINDS if name in found}
        return cls(**known, more={k: v for k, v in found.items() if k not in _KINDS})

    def to_json(self) -> dict[str, Any]:
        """Flat: what `more` holds stands beside the rest; optional fields that are None do not."""
        made = {name: getattr(self, name) for name in _KINDS}
        there = {k: v for k, v in made.items() if v is not None or k in _REQUIRED}
        return {**there, **self.more}


def _part(found: Mapping[str, Any], place: str, default: Any = None) -> Mapping[str, Any]:
    """An object inside, by its names with points between."""
    *outer, name = place.split(".")
    for key in outer:
        found = found[key]
    value: Mapping[str, Any] = found.get(name, default)
    _check(place, value, (Mapping,))
    return value


def _check_curve(curve: Mapping[str, Any]) -> None:
    for name, points in curve.items():
        if name == "every":
            fits = type(points) is int and points > 0
        else:
            fits = type(points) is list and all(p is None or _is_number(p) for p in points)
        if not fits:
            raise ValueError(f"curve.{name} must be a list of numbers (got {points!r:.60})")


def _is_number(value: object) -> bool:
    return type(value) is float or type(value) is int


def _check_plain(place: str, value: Any) -> None:
    """No number that JSON or 64 bits do not have, anywhere inside."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_plain(f"{place}.{key}" if place else key, inner)
    elif isinstance(value, list):
        for inner in value:
            if type(inner) is not float or not math.isfinite(inner):
                _check_plain(place, inner)
    elif type(value) is int and not -(2**63) <= value < 2**63:
        raise ValueError(f"{place} must fit into 64 bits (it has {len(str(abs(value)))} digits)")
    elif type(value) is float and not math.isfinite(value):
        raise ValueError(f"{place} must be a finite number (got {value})")


def _kinds(hint: Any) -> tuple[type, ...]:
    """What `isinstance` may be asked for a type hint; a JSON number without a point is an int."""
    parts = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    kinds = tuple(get_origin(part) or part for part in parts)
    return (*kinds, int) if float in kinds else kinds


def _check(name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds) or isinstance(value, bool):
        asked = [kind for kind in kinds if kind is not int or float not in kinds]
        wanted = " or ".join(_NAMES[kind] for kind in asked)
        raise ValueError(f"{name} must be {wanted} (got {value!r:.60})")


_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    Mapping: "an object",
    type(None): "null",
}
_KINDS = {name: _kinds(hint) for name, hint in get_type_hints(Row).items() if name != "more"}
_LEAST = {
    "seed": -(2**63), "fold": 1, "best_epoch": 0, "epochs": 0, "seconds": 0, "parameters": 0,
    "replicas": 1,
}  # fmt: skip
_REQUIRED = [f.name for f in fields(Row) if f.default is MISSING and f.name != "more"]
