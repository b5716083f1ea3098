"""Where rows come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gmpool.record import Row


def facts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Device, versions and commit; several of a kind are all named."""
    versions = (", ".join(f"{name} {n}" for name, n in row.versions.items()) for row in rows)
    return [
        ("device", _each(row.device for row in rows)),
        ("versions", _each(versions)),
        ("commit", _each(row.commit or "not a checkout" for row in rows)),
    ]


def _each(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))
