"""Where the commands write: results on standard output, all else on standard error.

Whatever a file says, no control character of it gets to the terminal.
"""

import logging
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.segment import Segment

from gmpool.plain_text import visible


class SafeConsole(Console):
    """One whose text, of whatever table or line, is visible; its own colours are no text."""

    def render(self, *args: Any, **options: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


# Names of files are text: nothing in them is markup or an emoji. Where output is not a terminal
# there is no width to keep to, and a table cut at 80 characters would lose numbers.
out = SafeConsole(
    markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 200
)
err = SafeConsole(stderr=True, markup=False, emoji=False, highlight=False)
INTERRUPTED = 130


def say(text: str) -> None:
    """A line on standard error, whatever its length."""
    err.print(visible(text), soft_wrap=True)


def say_understood(dataset: object) -> None:
    """What was read, before anything is done with it."""
    for line in understood(dataset):
        say(line)


def understood(dataset: object) -> Sequence[str]:
    """Sets of other packages may say nothing."""
    lines: Sequence[str] = getattr(dataset, "understood", ())
    return lines


def put(text: str) -> None:
    """Text for a program to read, on standard output as it is; for a reader, made visible."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


class SaidWarnings(logging.Handler):
    """What the library warns of is said as everything else is."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())
