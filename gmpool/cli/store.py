"""`gmpool store`: what can be done to recorded rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gmpool.atomic_files import write_atomically
from gmpool.cli.console import say
from gmpool.engine.checkpoint import rename_run, saved_key
from gmpool.engine.claims import Claims
from gmpool.engine.job import key_of
from gmpool.engine.store import RunStore
from gmpool.errors import StoreError, UserError
from gmpool.journal import Journal
from gmpool.record import Row

store = typer.Typer(no_args_is_help=True, help="Look after run stores.")


@store.callback()
def _store() -> None:
    """Look after run stores."""


@store.command()
def rekey(
    stores: Annotated[list[Path], typer.Argument(help="Folders of run stores.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
) -> None:
    """Give rows the keys that their own configurations have in this version, and with them what
    lies beside them: other files by key, and kept models."""
    for folder in stores:
        runs = RunStore(folder)
        rows, changed = _changed(runs)
        say(f"{folder}: {len(changed)} of {len(rows)} rows get another key")
        if dry_run or not changed:
            continue
        try:
            with runs.journal.alone():
                if Claims(folder).others():
                    raise UserError(f"a process is at work in {folder}; wait until it has ended")
                _rekey(runs, *_changed(runs))
        except OSError as error:
            raise StoreError(
                f"{folder} cannot be written: {error}; the same command goes on from there"
            ) from error


def _changed(runs: RunStore) -> tuple[list[Row], dict[str, str]]:
    """The rows, and the new keys of those that get another, by the old ones."""
    rows = list(runs)
    if not rows:
        raise UserError(f"{runs.path} holds no rows; give the folder of a run store")
    new = {row.key: key_of(row) for row in rows}
    return rows, {old: key for old, key in new.items() if old != key}


def _rekey(runs: RunStore, rows: list[Row], changed: dict[str, str]) -> None:
    new = [replace(row, key=changed.get(row.key, row.key)).to_json() for row in rows]
    files = {runs.path: _lines(new)}
    for path in sorted(runs.folder.glob("*.jsonl")):
        if path != runs.path:
            entries = [entry for _, entry in Journal(path)]
            files[path] = _lines([{**e, "key": changed.get(e["key"], e["key"])} for e in entries])
    # Models first: whoever is stopped in between does all again, because rows are as they were.
    for old, key in changed.items():
        before, after = runs.folder / "models" / old, runs.folder / "models" / key
        if before.is_dir() and not after.exists():
            before.rename(after)
        if saved_key(after) == old:
            rename_run(after, key)
    # And the rows last, in a rename of their own: files beside them can be done again.
    write_atomically({path: text for path, text in files.items() if path != runs.path})
    write_atomically({runs.path: files[runs.path]})


def _lines(entries: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(entry, sort_keys=True).encode() + b"\n" for entry in entries)
