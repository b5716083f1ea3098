"""What the file of a plan may say, and what is told to the user when it says something else."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gmpool.engine.job import MOST_RUNS, SEEDS_END
from gmpool.engine.own_sets import table_keys
from gmpool.errors import UserError, unknown
from gmpool.file_paths import usable_path
from gmpool.plain_text import shortened
from gmpool.tasks.task import DEFAULT, TASKS, Key

MOST_BYTES = 1_000_000


def _all(values: Any, kind: type) -> bool:
    return type(values) is list and all(type(value) is kind for value in values)


TEXT = Key(lambda v: type(v) is str and v != "", "a text in quotes")
NUMBER = Key(
    lambda v: type(v) is int and 1 <= v <= MOST_RUNS, f"a whole number from 1 to {MOST_RUNS:,}"
)
SEED = Key(lambda v: type(v) is int and 0 <= v < SEEDS_END, "a whole number from 0 to 2^63 - 1")
NAMES = Key(lambda v: _all(v, str), 'a list of names such as ["gmt", "mean"]')
OPTIONS = Key(lambda v: type(v) is dict, "options such as { epochs = 100 }")
BY_SET = Key(
    lambda v: type(v) is dict and _all(list(v.values()), dict),
    "one table of options per set, [dataset_options.NAME]",
)
TABLES = Key(
    lambda v: type(v) is dict and _all(list(v.values()), dict),
    "one table per set of your own, [dataset_tables.NAME]",
)
LINES = Key(lambda v: _all(v, dict), "tables, each below a heading [[line]]")

KEYS = {
    "title": TEXT, "task": TEXT, "seeds": NUMBER, "first_seed": SEED, "datasets": NAMES,
    "methods": NAMES, "options": OPTIONS, "dataset_options": BY_SET, "line": LINES,
    "table": OPTIONS, "dataset_tables": TABLES,
}  # fmt: skip
LINE_KEYS = {"label": TEXT, "method": TEXT, "options": OPTIONS}


def read_toml(path: Path) -> dict[str, Any]:
    """The keys that the file has; each is known and of its kind."""
    found = _parsed(path)
    name = found.get("task", DEFAULT)
    _check({"task": name}, KEYS, str(path))  # which says what else is known
    try:
        task = TASKS[name]
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    others = {key: TASKS[other].family for other in TASKS for key in TASKS[other].plan_keys}
    for key in found:
        if key in others and key not in task.plan_keys:
            raise UserError(f"{path}: {key} is for task = {others[key]!r}, and this is {name!r}")
    _check(found, {**KEYS, **task.plan_keys}, str(path))
    _check(found.get("table", {}), table_keys(task), f"{path}: [table]")
    for dataset, table in found.get("dataset_tables", {}).items():
        _check(table, table_keys(task), f"{path}: [dataset_tables.{shortened(repr(dataset))}]")
    for number, line in enumerate(found.get("line", []), start=1):
        where = f"{path}: [[line]] number {number}"
        _check(line, LINE_KEYS, where)
        if "method" not in line:
            raise UserError(f'{where} has no method; add one, such as method = "gmt"')
    return found


def _parsed(path: Path) -> dict[str, Any]:
    usable_path(path, "plan")
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"the plan {path} cannot be read: {error.strerror}") from error
    if len(content) > MOST_BYTES:
        raise UserError(f"{path} has more than {MOST_BYTES:,} bytes; that is no plan")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except ValueError as error:  # no TOML, no UTF-8, or a number of too many digits
        raise UserError(f"{path}: not TOML: {error}") from error
    except RecursionError as error:
        raise UserError(f"{path}: not a plan: its values lie too deep in one another") from error


def _check(found: Mapping[str, Any], known: Mapping[str, Key], where: str) -> None:
    for key, value in found.items():
        if key not in known:
            raise UserError(f"{where}: {unknown('key', key, known)}")
        if not known[key].fits(value):
            got = shortened(repr(value))
            raise UserError(f"{where}: {key} takes {known[key].words}, got {got}")
