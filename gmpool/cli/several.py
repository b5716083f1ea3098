"""Several inputs whose outputs are in one folder: what is whole is not made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gmpool.cli.console import say
from gmpool.cli.new_data import NewData
from gmpool.cli.unfinished import DONE, Origin, changed_parts, digest_of
from gmpool.errors import StoreError, UserError
from gmpool.journal import Journal


class Several:
    """Inputs whose outputs are in one folder, with a journal of those that are whole."""

    def __init__(self, data: NewData, origin: Origin) -> None:
        assert data.folder is not None
        self.data, self.origin = data, origin
        self.journal = Journal(data.folder / DONE)
        self.done = 0
        """Of those that were looked at, how many were done before."""

    def left(self) -> Iterator[tuple[str, Path, Origin]]:
        """Those that are to be done: input, output, and what it will be made of."""
        known = {entry["key"]: entry for _, entry in self.journal}
        for source, output in self.data.pairs:
            assert output is not None, "several are written to a folder"
            origin = with_input(self.origin, source)
            entry, before = known.get(output.name), output.exists()
            changed = changed_parts(entry.get("origin"), origin) if entry else ""
            if before and entry and not changed and entry.get("bytes") == output.stat().st_size:
                say(f"{output}: done before")
                self.done += 1
                continue
            if before:
                why = f"was made with {changed}" if changed else "is not what was made before"
                say(f"{output} {why}: it is made again")
            yield source, output, origin

    def note(self, output: Path, origin: Origin) -> None:
        """That it is whole."""
        try:
            self.journal.append(
                {"key": output.name, "origin": origin, "bytes": output.stat().st_size}
            )
        except StoreError as error:
            raise UserError(
                f"{output} is whole, but {self.journal.path} could not be written to say so: "
                f"{error.__cause__}; with room there the same command goes on"
            ) from error


def with_input(origin: Origin, source: str) -> Origin:
    """What rows of an input are made of: its content, where it is a file or a folder."""
    path = Path(source)
    return {**origin, "input": digest_of(path) if path.is_file() or path.is_dir() else source}
