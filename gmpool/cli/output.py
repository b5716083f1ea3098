"""Tables and pictures, printed or written to files, in the form that was asked for."""

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gmpool.atomic_files import write_atomically
from gmpool.cli.console import out, put, say
from gmpool.errors import UserError
from gmpool.file_paths import require_writable_file, require_writable_folder
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


def check_places(out: Path | None, **folders: Path | None) -> None:
    """Before anything is done for them: raises where it is known that nothing can be written.

    folders: by the names of their flags.
    """
    if out is not None:
        require_writable_file(out, "--out")
    for name, folder in folders.items():
        if folder is not None:
            require_writable_folder(folder, f"--{name.replace('_', '-')}")


def write(grids: Sequence[Grid], form: str, to: Path | None, *, title: str = "") -> None:
    """Print the grids, or write them to a file and say so."""
    if form == "terminal" and to is None:
        out.print(terminal([grid for grid in grids if grid.essential], out.width))
        return
    made = render(form, grids, title=title, command=shlex.join(["gmpool", *sys.argv[1:]]))
    if to is None:
        put(made)
    else:
        save(to, made.encode(errors="backslashreplace"))


def save_pictures(pictures: Iterable[Picture], folder: Path) -> None:
    for picture in pictures:
        png = picture.draw()
        if png is None:
            say(picture.note)
        else:
            save(folder / picture.file, png)


def save(path: Path, content: bytes) -> None:
    """The file is whole, or as it was. Where a link lies, what it points to is written."""
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():  # /dev/null is not to be replaced by a file
            target.write_bytes(content)
        else:
            write_atomically({target: content})
    except OSError as error:
        raise UserError(f"{path} could not be written: {error.strerror}") from error
    say(f"written: {path}")
