"""What a line of a table is called so that it is told from the others."""

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

from gmpool.record import Row


def settings_of(row: Row) -> dict[str, Any]:
    """All settings by one name each; those of a pooling as pool.NAME."""
    model = {k: v for k, v in row.model.items() if k not in ("method", "pool")}
    pool = {f"pool.{key}": value for key, value in row.model.get("pool", {}).items()}
    return {**model, **pool, **row.train}


def differing(lines: Iterable[tuple[Hashable, Mapping[str, Any]]]) -> dict[Any, set[str]]:
    """By group: the names of the settings in which its lines differ.

    lines: group and settings of each.
    """
    groups: dict[Hashable, list[Mapping[str, Any]]] = defaultdict(list)
    for group, settings in lines:
        groups[group].append(settings)
    return {
        group: {
            name
            for name in dict.fromkeys(name for one in found for name in one)
            if len({json.dumps(one.get(name), sort_keys=True) for one in found}) > 1
        }
        for group, found in groups.items()
    }


def label(name: str, settings: Mapping[str, Any], shown: Collection[str]) -> str:
    """The name, and in brackets those of the settings that are to be shown."""
    said = [
        f"{key.removeprefix('pool.')}={value}"
        for key, value in sorted(settings.items())
        if key in shown
    ]
    return f"{name} ({', '.join(said)})" if said else name
