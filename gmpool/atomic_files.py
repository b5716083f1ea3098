"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write temporary files beside the paths; when all are whole, put them in place.

    If anything fails the temporary files are removed, and what was at the paths stays as it was.
    """
    token = secrets.token_hex(4)
    temporary = {path: path.with_name(f".{path.name}.{token}") for path in files}
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary[path].open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for path in files:
            os.replace(temporary[path], path)
    except BaseException:
        for leftover in temporary.values():
            with contextlib.suppress(OSError):
                leftover.unlink()
        raise
