"""What was packed before from the same source, in the user's cache."""

from __future__ import annotations

import logging
from collections.abc import Callable

from gmpool.data.packed import PackedGraphs
from gmpool.data.sources import packed_file
from gmpool.data.sources.find_file import cache_dir
from gmpool.data.splits import Split
from gmpool.errors import DataError

_log = logging.getLogger(__name__)
Packed = tuple[PackedGraphs, Split | None]


def packed_once(name: str, source: str, make: Callable[[], Packed]) -> Packed:
    """What ``make`` gives, or gave before for the same ``source``, the digest of a file.

    A damaged file in the cache, or one that cannot be written, costs time and not the result.
    """
    path = cache_dir() / packed_file.FORMAT / f"{name}-{source[:16]}.safetensors"
    if path.exists():
        try:
            return packed_file.read(path)
        except DataError as error:
            _log.warning("packing again: %s", error)
    made = make()
    try:
        packed_file.save(made[0], path, made[1])
    except DataError as error:
        _log.warning("not cached: %s", error)
    return made
