"""Whether a path can be used, asked before any work is done for it."""

import os
from collections.abc import Iterable
from pathlib import Path

from gmpool.errors import UserError
from gmpool.plain_text import shortened

_SPARE = "." + 9 * "x"
"""A file that is being written has a name longer by so much."""


def usable_path(text: str | Path, what: str = "path") -> Path:
    """The path, whether anything is there or not; raises if the system would not look for it."""
    name = os.fspath(text)
    shown = shortened(repr(name))
    if "\0" in name:
        raise UserError(f"the {what} {shown} has a NUL in it; no file is called so")
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # too long, a loop of links, a folder that may not be entered
        raise UserError(f"the {what} {shown} cannot be used: {error.strerror}") from error
    return Path(name)


def require_writable_file(path: Path, flag: str) -> None:
    """Raises where it is known that a file cannot be written there. flag: that asked for it."""
    usable_path(path.with_name(path.name + _SPARE))
    if path.is_dir():
        raise UserError(f"{flag} {path}: there is a folder of that name; give a file in it")
    if path.exists() and not os.access(path, os.W_OK):
        raise UserError(f"{flag} {path}: the file may not be written; give another place")
    _require_folder(path.parent, f"{flag} {path}")


def require_other_file(path: Path, flag: str, inputs: Iterable[str | Path]) -> None:
    """Raises if what is to be written is one of the files that are read."""
    for each in inputs:
        if os.path.exists(each) and os.path.exists(path) and os.path.samefile(each, path):
            raise UserError(f"{flag} {path} is what is read here; give another name")


def require_writable_folder(path: Path, flag: str) -> None:
    """The same for a folder that files are to be put into."""
    usable_path(path)
    _require_folder(path, f"{flag} {path}")


def _require_folder(path: Path, given: str) -> None:
    """That it is there, or can be made, and lets files be written."""
    there = next(folder for folder in (path, *path.absolute().parents) if os.path.exists(folder))
    if not there.is_dir():
        raise UserError(f"{given}: {there} is a file, not a folder; give another place")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{given}: nothing can be written to {there}; give another place")
