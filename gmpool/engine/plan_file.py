"""What the file of a plan may say, and what is told to the user when it says something else."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gmpool.errors import UserError, unknown


class Kind(NamedTuple):
    """What a key takes, for the check and in words."""

    fits: Callable[[Any], bool]
    words: str


def _all(values: Any, kind: type) -> bool:
    return type(values) is list and all(type(value) is kind for value in values)


TEXT = Kind(lambda v: type(v) is str and v != "", "a text in quotes")
NUMBER = Kind(lambda v: type(v) is int and v >= 1, "a whole number from 1")
SEED = Kind(lambda v: type(v) is int and v >= 0, "a whole number from 0")
NAMES = Kind(lambda v: _all(v, str), 'a list of names such as ["gmt", "mean"]')
SHARES = Kind(
    lambda v: type(v) is list and all(type(r) is float and 0 < r <= 1 for r in v) and v != [],
    "a list of shares such as [0.05, 0.25]",
)
OPTIONS = Kind(lambda v: type(v) is dict, "options such as { epochs = 100 }")
BY_SET = Kind(
    lambda v: type(v) is dict and _all(list(v.values()), dict),
    "one table of options per set, [dataset_options.NAME]",
)
LINES = Kind(lambda v: _all(v, dict), "tables, each below a heading [[line]]")

KEYS = {
    "title": TEXT,
    "task": TEXT,
    "paper": TEXT,
    "part": TEXT,
    "seeds": NUMBER,
    "first_seed": SEED,
    "folds": NUMBER,
    "datasets": NAMES,
    "methods": NAMES,
    "ratios": SHARES,
    "objectives": NAMES,
    "options": OPTIONS,
    "dataset_options": BY_SET,
    "line": LINES,
}
LINE_KEYS = {"label": TEXT, "method": TEXT, "options": OPTIONS}
CHOICES = {
    "task": ("classify", "reconstruct"),
    "paper": ("test", "valid", "ablation", "leaderboard"),
    "part": ("test", "valid"),
}
# Keys that mean something for one task alone.
OF_TASK = {
    "classify": ("paper", "part", "folds"),
    "reconstruct": ("ratios", "objectives"),
}


def read_toml(path: Path) -> dict[str, Any]:
    """The keys that the file has; each is known and of its kind."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"the plan {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML: {error}") from error
    _check(found, KEYS, str(path))
    for key, known in CHOICES.items():
        if key in found and found[key] not in known:
            raise UserError(f"{path}: {unknown(key, found[key], known)}")
    task = found.get("task", "classify")
    for other, keys in OF_TASK.items():
        for key in keys:
            if key in found and other != task:
                raise UserError(f"{path}: {key} is for task = {other!r}, and this is {task!r}")
    for number, line in enumerate(found.get("line", []), start=1):
        where = f"{path}: [[line]] number {number}"
        _check(line, LINE_KEYS, where)
        if "method" not in line:
            raise UserError(f'{where} has no method; add one, such as method = "gmt"')
    return found


def _check(found: Mapping[str, Any], known: Mapping[str, Kind], where: str) -> None:
    for key, value in found.items():
        if key not in known:
            raise UserError(f"{where}: {unknown('key', key, known)}")
        if not known[key].fits(value):
            raise UserError(f"{where}: {key} takes {known[key].words}, got {value!r}")
