"""The user's own sets in a plan, opened as the plan and the command line say: which column holds
the labels, and whatever else the task's flags for data are."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from gmpool.errors import UserError, unknown
from gmpool.file_paths import usable_path
from gmpool.tasks.task import Flag, Key, Task

Options = Mapping[str, Any]


def data_flags(task: Task) -> list[Flag]:
    return [flag for flag in task.flags if flag.to == "data"]


def table_keys(task: Task) -> dict[str, Key]:
    """What [table] may say: the task's flags for data, by their names."""
    return {flag.name: _key(flag) for flag in data_flags(task)}


def _key(flag: Flag) -> Key:
    words = {str: "a text in quotes", bool: "true or false", int: "a whole number"}
    said = words.get(flag.kind, "a number")
    if flag.repeat:
        return Key(lambda v: all(_is(flag, each) for each in _listed(v)), f"{said}, or a list")
    return Key(lambda v: _is(flag, v), said)


def _is(flag: Flag, value: Any) -> bool:
    return type(value) is flag.kind and value != ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def open_own(
    task: Task,
    names: Sequence[str],
    folder: Path,
    for_all: Options,
    for_one: Mapping[str, Options],
    given: Options,
) -> dict[str, Any]:
    """The sets that have no name in the catalogue, by what the plan calls them.

    folder: of the plan. for_all: the keys of [table], for the sets that take them; for_one: those
    of [dataset_tables.NAME], over them; given: those of the command line, over both.
    """
    own = [name for name in names if task.card(name) is None]
    for name in for_one:
        if name not in own:
            raise unknown("set in dataset_tables, which is for your own", name, own)
    takes = {name: _takes(task, name, folder) for name in own}
    flags = {flag.name: flag for flag in data_flags(task)}
    for key in given:
        if key not in flags:
            raise UserError(f"{_flag(key)} means nothing to a plan of {task.name}; leave it out")
    for where, options in (("table", for_all), ("", given)):
        for key in options:
            if not any(key in taken for taken in takes.values()):
                said = f"[{where}] {key}" if where else _flag(key)
                raise UserError(f"{said} is for none of the plan's sets; leave it out")
    opened = {}
    for name in own:
        general = {k: v for k, v in for_all.items() if k in takes[name]}
        over = {k: v for k, v in given.items() if k in takes[name]}
        options = {**general, **for_one.get(name, {}), **over}
        listed = {k: _listed(v) if flags[k].repeat else v for k, v in options.items()}
        opened[name] = task.own(name, folder, **listed)
    return opened


def _takes(task: Task, name: str, folder: Path) -> Collection[str]:
    usable_path(folder / name, "path of a dataset")
    return task.takes(name, folder)


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"
