"""`gmpool store`: what can be done to recorded rows."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gmpool.atomic_files import write_atomically
from gmpool.cli.console import say
from gmpool.engine.job import key_of
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.journal import Journal

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
        rows = list(runs)
        if not rows:
            raise UserError(f"{runs.path} holds no rows; give the folder of a run store")
        new = {row.key: key_of(row) for row in rows}
        changed = {old: key for old, key in new.items() if old != key}
        say(f"{folder}: {len(changed)} of {len(rows)} rows get another key")
        if dry_run or not changed:
            continue
        lines = [replace(row, key=new[row.key]).to_json() for row in rows]
        files = {runs.path: _lines(lines)}
        for path in sorted(folder.glob("*.jsonl")):
            if path != runs.path:
                entries = [entry for _, entry in Journal(path)]
                files[path] = _lines([{**e, "key": new.get(e["key"], e["key"])} for e in entries])
        # Models first: whoever is stopped in between does all again, because rows are as they were.
        for old, key in changed.items():
            if (folder / "models" / old).is_dir() and not (folder / "models" / key).exists():
                (folder / "models" / old).rename(folder / "models" / key)
        write_atomically(files)


def _lines(entries: list[dict[str, object]]) -> bytes:
    return b"".join(json.dumps(entry, sort_keys=True).encode() + b"\n" for entry in entries)
