"""A file of rows that grows part by part beside its place, so that who is killed goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gmpool.atomic_files import sync_folder, write_atomically
from gmpool.cli.row_text import TEXT_ENDINGS, Row, RowText
from gmpool.errors import DataError, UserError
from gmpool.exclusive import claim, release

DONE = "done.jsonl"
"""In a folder of several outputs: what each is made of."""
Origin = Mapping[str, Any]
"""What a file is made of, as JSON has it, by the words for it."""
Counted = Callable[[int], Mapping[str, Any]]
"""Is told how many cells got an apostrophe, and gives what is counted with these rows."""
Write = Callable[[Sequence[Row], Counted], object]


class Unfinished:
    """The beginning of a file, `.NAME.part`, and beside it `.NAME.part.json`: what it is made of,
    how many bytes of it are whole, and what was counted on the way.

    Bytes are on the disk before they are counted: whatever comes behind them is cut off.
    """

    def __init__(self, path: Path, origin: Origin) -> None:
        self.target = Path(os.path.realpath(path))
        self.origin = origin
        self.part = self.target.with_name(f".{self.target.name}.part")
        self.record = self.target.with_name(f".{self.target.name}.part.json")
        self._bytes, self.counts, self.other = self._found()

    def _found(self) -> tuple[int, dict[str, Any], str]:
        """(bytes, counts, why what is there is of no use)"""
        try:
            known = json.loads(self.record.read_bytes())
            length, counts, origin = known["bytes"], known["counts"], known["origin"]
            there = self.part.stat().st_size
        except (OSError, ValueError, KeyError, TypeError):
            return 0, {}, ""
        changed = changed_parts(origin, self.origin)
        if changed:
            return 0, {}, f"{self.part} was begun with {changed}: it is begun anew"
        if not (type(length) is int and 0 < length <= there and isinstance(counts, dict)):
            return 0, {}, f"{self.part} is damaged: it is begun anew"
        return length, counts, ""

    @contextmanager
    def going_on(self, columns: list[str]) -> Iterator[Write]:
        """What writes some rows more. At the end the file is put in place."""
        text = RowText(self.target.name)
        with self._had(), self._opened() as file:

            def write(rows: Sequence[Row], counted: Counted) -> None:
                made, changed = text(rows)
                if file.tell() == 0:
                    made = text([columns])[0] + made
                file.write(made)
                file.flush()
                os.fsync(file.fileno())
                self._keep(file.tell(), counted(changed))

            yield write
            if file.tell() == 0:
                file.write(text([columns])[0])
            file.flush()
            os.fsync(file.fileno())
            os.replace(self.part, self.target)
            sync_folder(self.target.parent)
            self.record.unlink(missing_ok=True)

    @contextmanager
    def _had(self) -> Iterator[None]:
        """While no other process writes it, whose work since this one looked is not lost."""
        writer = self.target.with_name(f".{self.target.name}.writer")
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            if not claim(writer):
                raise UserError(
                    f"{self.target} is being written by another process; let it end first"
                )
            try:
                if self._found()[:2] != (self._bytes, self.counts):
                    raise UserError(
                        f"another process has written at {self.target} in this moment; the same "
                        "command goes on"
                    )
                yield
            finally:
                release(writer)
        except OSError as error:
            kept = f"{self.part} is kept, and the" if self.part.exists() else "with room there the"
            raise UserError(
                f"the rows could not be written to {self.target}: {error.strerror or error}; "
                f"{kept} same command goes on"
            ) from error

    def _opened(self) -> IO[bytes]:
        """Behind what is whole. What is begun anew has no record of what was there before."""
        if not self._bytes:
            self.record.unlink(missing_ok=True)
            sync_folder(self.target.parent)
            return self.part.open("wb")
        file = self.part.open("r+b")
        file.truncate(self._bytes)
        file.seek(self._bytes)
        return file

    def _keep(self, length: int, counts: Mapping[str, Any]) -> None:
        known = {"origin": dict(self.origin), "bytes": length, "counts": dict(counts)}
        write_atomically({self.record: json.dumps(known).encode()})


def can_be_gone_on_with(path: Path) -> bool:
    return path.name.lower().endswith(TEXT_ENDINGS)


def changed_parts(before: object, now: Origin) -> str:
    """Of what else something was made, in words; "" where it is the same."""
    if not isinstance(before, Mapping):
        return "something else"
    names = [name for name in {**now, **before} if before.get(name) != now.get(name)]
    return " and ".join(f"{'other' if name.endswith('s') else 'another'} {name}" for name in names)


def digest_of(path: str | Path) -> str:
    """Of the bytes of a file, or of all files in a folder but hidden ones and such as are written
    by this."""
    try:
        if not os.path.isdir(path):
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        inside = [each for each in sorted(Path(path).rglob("[!.]*")) if each.is_file()]
        each = {
            str(file.relative_to(path)): digest_of(file)
            for file in inside
            if file.name != DONE and not can_be_gone_on_with(file)
        }
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return hashlib.sha256(json.dumps(each).encode()).hexdigest()
