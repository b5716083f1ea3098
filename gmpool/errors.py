"""The errors a user can cause. Their text says what was wrong, where, and what to do next.

Each is a ValueError beside being ours, and what else it is by its nature.
"""

import difflib
from collections.abc import Iterable

from gmpool.plain_text import shortened


class UserError(ValueError):
    """A mistake in the input; the command line prints it without a traceback and exits with 2."""


class WrongType(UserError, TypeError):
    """A value is of a type that does not fit."""


class DataError(UserError):
    """Something in a data file cannot be used; the message names file and line where it can."""


class CheckpointError(UserError):
    """A saved model cannot be read, or does not fit the data or the code that asks for it."""


class StoreError(UserError):
    """The run store cannot be read or written."""


class MissingPackage(ImportError, UserError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f'install it with: pip install "gmpool[{extra}]"',
            name=package,
        )
        self.args = (package, extra, purpose)  # what a worker process needs to send it back


def unknown(kind: str, name: object, known: Iterable[str]) -> UserError:
    """The error for an unknown name: it lists the known ones and guesses what was meant."""
    names = sorted(set(known))
    close = difflib.get_close_matches(str(name)[:200], names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    known_ones = ", ".join(names) or "none"
    return UserError(f"unknown {kind} {shortened(repr(name))}{hint} (known: {known_ones})")
