"""What a source of data is, and where the sources are found: by lying in ``sources/``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import Dataset
from gmpool.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Source:
    """One kind of data that ``gmpool.data.load`` opens."""

    load: Callable[[str, PathLike | None], Dataset]
    """Reads a name or path that is its kind; the second argument is the folder to search first."""
    names: Callable[[], Collection[str]] = tuple
    """The names of sets that are its kind. A name goes before a file that is called the same."""
    accepts: Callable[[Path], bool] = lambda path: False
    """Whether a path is its kind, by its ending or by what lies there."""
    files: str = ""
    """The paths it accepts, for messages."""


SOURCES: Registry[Source] = Registry(
    "source", package="gmpool.data.sources", group="gmpool.sources"
)


def source_of(name: str) -> Source | None:
    """The source that a name or path is for; None where no source knows it."""
    known = [SOURCES[each] for each in SOURCES]
    named = (source for source in known if name in source.names())
    accepting = (source for source in known if source.accepts(Path(name)))
    return next(named, None) or next(accepting, None)
