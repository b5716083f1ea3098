"""What a task adds to the command line and to plans."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Flag(NamedTuple):
    """An option on the command line that a task has beside those that all have.

    to: "data", where it goes to `open`, or "lines", where each value given is a line of its own.
    """

    name: str
    kind: type
    help: str
    default: Any = None
    repeat: bool = False
    to: str = "data"
    short: str | None = None


class Key(NamedTuple):
    """A key of a plan that means something to a task: what it takes, for the check and in words."""

    fits: Callable[[Any], bool]
    words: str
