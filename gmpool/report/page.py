"""A report of some runs as a file: an HTML page, or Markdown beside its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gmpool.atomic_files import write_atomically
from gmpool.errors import UserError
from gmpool.report.grid import Grid
from gmpool.report.render import render


def write_report(grids: Sequence[Grid], path: Path, *, title: str, command: str) -> None:
    """`path` ends in .html (one self-contained file) or .md (with PNGs of the same name)."""
    if path.suffix == ".html":
        made = {path: render("html", grids, title=title, command=command).encode()}
    elif path.suffix == ".md":
        made = _markdown(grids, path, title, command)
    else:
        raise UserError(f"a report is written as .html or .md, got {path}")
    try:
        write_atomically(made)
    except OSError as error:
        raise UserError(
            f"the report could not be written to {path}: {error}; the runs are recorded, so the "
            f"same command with another --report makes it at once"
        ) from error


def _markdown(grids: Sequence[Grid], path: Path, title: str, command: str) -> dict[Path, bytes]:
    files: dict[Path, bytes] = {}
    links = []
    for picture in (picture for grid in grids for picture in grid.pictures):
        if png := picture.draw():
            number = f"-{len(files) + 1}" if files else ""
            beside = path.with_name(f"{path.stem}{number}.png")
            files[beside] = png
            links.append(f"![{picture.title}]({beside.name})\n")
    facts = dict.fromkeys(fact for grid in grids for fact in grid.facts)
    made = "\n".join(f"- {name}: {value}" for name, value in facts)
    text = "\n".join(
        [f"# {title}\n", render("markdown", grids), *links, "## How it was made\n",
         f"    {command}\n", made, ""]
    )  # fmt: skip
    return {**files, path: text.encode()}
