"""What new data a command is given, and where what is made of each goes."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gmpool.atomic_files import PathLike
from gmpool.cli.row_file import ENDINGS, check_target
from gmpool.data import CATALOGUE
from gmpool.data.sources.find_file import folders
from gmpool.data.sources.table_cells import stem
from gmpool.errors import UserError
from gmpool.file_paths import require_writable_folder


class NewData(NamedTuple):
    """The pairs of input and output, of which one may go to standard output (None)."""

    pairs: list[tuple[str, Path | None]]
    folder: Path | None
    """Where there are several: what they are written to."""


def new_data(given: Sequence[str], output: Path | None, root: PathLike | None) -> NewData:
    """given: names, paths and patterns such as parts/*.csv; several of them need a folder."""
    names = [name for each in given for name in _meant(each)]
    several = len(names) > 1 or list(given) != names
    if not several:
        if output is not None:
            check_target(output, _files(names, root))
        return NewData([(names[0], output)], None)
    if output is None:
        raise UserError(
            f"a pattern and several inputs (here {len(names)}) are written to a folder: name it "
            "with --out FOLDER"
        )
    if not output.is_dir() and (output.exists() or output.name.lower().endswith(ENDINGS)):
        raise UserError(
            f"--out {output}: a pattern and several inputs are written to a folder, and this is "
            f"{'' if output.exists() else 'called like '}a file; give another name"
        )
    require_writable_folder(output, "--out")
    pairs = [(name, output / _name_for(name)) for name in names]
    before: dict[str, str] = {}
    for name, target in pairs:
        other = before.setdefault(target.name, name)
        if other != name:
            raise UserError(
                f"{other} and {name} would both be written to {target}; give them to two commands "
                "with a folder each"
            )
        check_target(target, _files(names, root))
    return NewData([*pairs], output)


def _meant(given: str) -> list[str]:
    """The files of a pattern; else what is given, which may be a file that is called like one."""
    if os.path.exists(given) or not glob.has_magic(given):
        return [given]
    found = sorted(glob.glob(given, recursive=True))
    if not found:
        raise UserError(f"{given}: no file is called so")
    return found


def _name_for(name: str) -> str:
    """Of the output in a folder: the input's, where rows can be written so."""
    base = os.path.basename(os.path.abspath(name))
    if base.lower().endswith(ENDINGS):
        return base
    return f"{stem(base) if os.path.isfile(name) else base}.csv"


def _files(names: Sequence[str], root: PathLike | None) -> list[PathLike]:
    """What is read: of a named set the files that it may be in."""
    found: list[PathLike] = []
    for name in names:
        files = CATALOGUE[name].files if name in CATALOGUE else ()
        found += [name, *(folder / file for folder in folders(root) for file in files)]
    return found
