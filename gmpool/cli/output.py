"""Tables and pictures, printed or written to files, in the form that was asked for."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gmpool.cli.console import out, say
from gmpool.errors import UserError
from gmpool.report.grid import Grid, Picture
from gmpool.report.render import FORMS, render
from gmpool.report.render.terminal import terminal


def form_of(to: Path | None, form: str | None = None) -> str:
    """What was asked for, or what the file's name says."""
    if form is not None:
        FORMS[form]  # an unknown one raises
        return form
    suffixes = {FORMS[name].suffix: name for name in FORMS}
    if to is not None and to.suffix not in suffixes:
        raise UserError(f"--out ends in {', '.join(sorted(suffixes))}, got {to}; or say --format")
    return "terminal" if to is None else suffixes[to.suffix]


def write(grids: Sequence[Grid], form: str, to: Path | None, *, title: str = "") -> None:
    """Print the grids, or write them to a file and say so."""
    if form == "terminal" and to is None:
        out.print(terminal(grids, out.width))
        return
    made = render(form, grids, title=title, command=shlex.join(["gmpool", *sys.argv[1:]]))
    if to is None:
        print(made, end="")
    else:
        save(to, made.encode())


def save_pictures(pictures: Iterable[Picture], folder: Path) -> None:
    for picture in pictures:
        png = picture.draw()
        if png is None:
            say(picture.note)
        else:
            save(folder / picture.file, png)


def save(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path} could not be written: {error.strerror}") from error
    say(f"written: {path}")
