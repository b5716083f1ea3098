"""Rows that are written as they come: to standard output, or to a file that is there when it is
whole."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from gmpool.atomic_files import PathLike, replacing
from gmpool.cli.row_text import TEXT_ENDINGS, Row, RowText
from gmpool.errors import MissingPackage, UserError
from gmpool.file_paths import require_writable_file

Write = Callable[[Sequence[Row]], int]
"""Gives the number of cells that got an apostrophe."""
ENDINGS = (*TEXT_ENDINGS, ".parquet")


def check_target(path: Path, inputs: Iterable[PathLike]) -> None:
    """Raises where a file cannot be written as rows, or is one that they are read from."""
    if not path.name.lower().endswith(ENDINGS):
        raise UserError(f"--out ends in {', '.join(ENDINGS)}; got {path}")
    require_writable_file(path, "--out")
    if not os.path.exists(path):
        return
    if not os.path.isfile(path):  # such as /dev/null, by a link
        raise UserError(f"--out {path} is no ordinary file; give another name")
    for source in inputs:
        if os.path.exists(source) and os.path.samefile(path, source):
            raise UserError(f"--out {path} is the input {source} itself; give another name")


@contextmanager
def row_file(path: Path | None, columns: list[str], kinds: list[type]) -> Iterator[Write]:
    """What writes some rows below the header; without a path to standard output.

    The file is written beside its place and put there at the end. If anything fails, what was there
    stays as it was.
    """
    try:
        if path is None:
            shown = RowText(shown=sys.stdout.isatty())
            yield _text(sys.stdout.buffer, shown, columns)
            sys.stdout.buffer.flush()
            return
        with replacing(os.path.realpath(path)) as (temporary,), ExitStack() as files:
            file: IO[bytes] = files.enter_context(temporary.open("wb"))
            if path.name.lower().endswith(".parquet"):
                yield _parquet(file, columns, kinds, files)
            else:
                yield _text(file, RowText(path.name), columns)
    except BrokenPipeError:  # who reads has seen enough
        raise
    except OSError as error:
        target = path or "standard output"
        reason = error.strerror or error
        raise UserError(f"the rows could not be written to {target}: {reason}") from error


def _text(file: Any, text: RowText, columns: list[str]) -> Write:
    def write(rows: Sequence[Row]) -> int:
        made, changed = text(rows)
        file.write(made)
        file.flush()
        return changed

    write([columns])
    return write


def _parquet(file: IO[bytes], columns: list[str], kinds: list[type], files: ExitStack) -> Write:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPackage("pyarrow", "parquet", "writing .parquet") from error
    types = [pyarrow.float64() if kind is float else pyarrow.string() for kind in kinds]
    schema = pyarrow.schema(list(zip(columns, types, strict=True)))
    writer = files.enter_context(pyarrow.parquet.ParquetWriter(file, schema))

    def write(rows: Sequence[Row]) -> int:
        arrays = [
            pyarrow.array([_whole(row[i]) for row in rows], kind) for i, kind in enumerate(types)
        ]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
        return 0

    return write


def _whole(value: str | float | None) -> str | float | None:
    """Without halves of characters, which are in no file."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value
