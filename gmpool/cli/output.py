"""Tables as text, printed or written to a file, in the form that was asked for."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from rich.console import Console, RenderableType

from gmpool.cli.console import out, say
from gmpool.errors import UserError


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"
    html = "html"


SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".html": "html"}
Makers = Mapping[Format, Callable[[], str]]


def format_of(to: Path | None) -> Format:
    if to is None:
        return Format.terminal
    if to.suffix not in SUFFIXES:
        raise UserError(f"--out ends in {', '.join(SUFFIXES)}, got {to}; or say --format")
    return Format(SUFFIXES[to.suffix])


def write(
    makers: Makers, terminal: Callable[[int], RenderableType], wanted: Format, to: Path | None
) -> None:
    """Print the table, or write it to a file and say so."""
    if wanted is Format.terminal and to is None:
        out.print(terminal(out.width))
        return
    if wanted is Format.terminal:
        text = io.StringIO()
        Console(file=text, width=200).print(terminal(200))
        made = text.getvalue()
    else:
        made = makers[wanted]()
    if to is None:
        print(made, end="")
        return
    save(to, made.encode())


def save(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path} could not be written: {error.strerror}") from error
    say(f"written: {path}")
