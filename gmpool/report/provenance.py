"""Where rows come from."""

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


def provenance_note(rows: Sequence[Row]) -> str | None:
    """That the rows are not of one version of the code, or do not say of which; None if they are
    of one."""
    sources = {row.source for row in rows}
    if not rows or (len(sources) == 1 and None not in sources):
        return None
    commits = len({row.commit for row in rows})
    said = f"code: {_count(len(rows), 'run')} of {_count(commits, 'commit')}"
    versions = len(sources - {None})
    if versions > 1:
        said += f" and {_count(versions, 'version')} of the source"
    silent = sum(row.source is None for row in rows)
    return f"{said}, of which {silent:,} do not say their source" if silent else said


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _each(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))
