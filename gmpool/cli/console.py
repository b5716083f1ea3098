"""Where the commands write: results on standard output, all else on standard error."""

import sys

from rich.console import Console

# Names of files are text: nothing in them is markup or an emoji. Where output is not a terminal
# there is no width to keep to, and a table cut at 80 characters would lose numbers.
out = Console(
    markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else 200
)
err = Console(stderr=True, markup=False, emoji=False, highlight=False)
INTERRUPTED = 130


def say(text: str) -> None:
    """A line on standard error, whatever its length."""
    err.print(text, soft_wrap=True)


def say_left_out(skipped: tuple[str, ...]) -> None:
    for reason in skipped:
        say(f"left out: {reason}")
