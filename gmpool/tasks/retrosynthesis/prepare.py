"""From a table of reactions to a prepared set: templates, candidates of every product, graphs.

Finding candidates takes long, minutes to hours, and what is found is kept in a folder of shards:
who is stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.candidates import SECONDS
from gmpool.tasks.retrosynthesis.library import UNKNOWN, TemplateLibrary
from gmpool.tasks.retrosynthesis.pack import pack
from gmpool.tasks.retrosynthesis.prepared import Prepared
from gmpool.tasks.retrosynthesis.reactions import (
    Reaction,
    ReactionTable,
    Row,
    chunks,
    reaction_table,
    read_chunk,
    read_rows,
    source_path,
)
from gmpool.tasks.retrosynthesis.shards import (
    SHARD,
    Shards,
    as_completed,
    processes,
)

READING, FINDING, PACKING = "reading reactions", "finding candidates", "drawing graphs"
"""What is being done."""
SHARDS = ".shards"
_SHOWN, _PARTS = 5, 64
Tell = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much."""


class Done(NamedTuple):
    """said: what was found, what failed, and what may be deleted, in lines."""

    prepared: Prepared
    folder: Path
    said: list[str]


def prepare(
    source: str,
    root: Path | None,
    out: Path,
    *,
    folder: Path | None = None,
    workers: int = 1,
    seconds: float = SECONDS,
    reaction_column: str | None = None,
    class_column: str | None = None,
    template_column: str | None = None,
    split_column: str | None = None,
    skip_bad_rows: bool = False,
    smiles: bool = True,
    tell: Tell = lambda what, done, of: None,
) -> Done:
    """Write the prepared set `out` of a named set or of a CSV of mapped reactions.

    folder: of the shards; else beside `out`. seconds: that a product may take. columns: by name;
    else they are found. smiles: whether the file holds them, to be shown.
    """
    if not seconds > 0:
        raise DataError(f"a product may take more than 0 seconds, got {seconds:g}")
    name, path = source_path(source, root)
    table, rows = read_rows(
        path,
        reaction_column=reaction_column,
        class_column=class_column,
        template_column=template_column,
    )
    read = reaction_table(
        name,
        table,
        rows,
        _read(rows, workers, tell),
        split_column=split_column,
        skip_bad_rows=skip_bad_rows,
    )
    learned = [read.reactions[at] for at in read.split.train.tolist()]
    library = TemplateLibrary.of((each.group, each.template) for each in learned)
    products = list(dict.fromkeys(each.product for each in read.reactions))
    found = shards_of(folder or out.with_suffix(SHARDS), library, products)
    _find(found, workers, seconds, tell)
    prepared = pack(
        read, library, products, found, workers, lambda done, of: tell(PACKING, done, of)
    )
    prepared.save(out, smiles=smiles)
    return Done(prepared, found.folder, _said(read, prepared, found.folder, out))


def shards_of(folder: Path, library: TemplateLibrary, products: Sequence[str]) -> Shards:
    """Small sets have small shards, so that all cores have some."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file, and a folder of that name is needed; rename it")
    return Shards(folder, library, products, size=min(SHARD, -(-len(products) // _PARTS)))


def _read(rows: Sequence[Row], workers: int, tell: Tell) -> list[Reaction | str]:
    parts = chunks(rows)
    done: dict[int, list[Reaction | str]] = {}

    def add(at: int, made: list[Reaction | str]) -> None:
        done[at] = made
        tell(READING, sum(map(len, done.values())), len(rows))

    tell(READING, 0, len(rows))
    if workers == 1 or len(parts) < 2:
        for at, part in enumerate(parts):
            add(at, read_chunk(part))
    else:
        with processes(workers) as pool:
            given = ((part,) for part in parts)
            for at, made in as_completed(pool, read_chunk, given, workers + 2):
                add(at, made)
    return [found for at in range(len(parts)) for found in done[at]]


def _find(shards: Shards, workers: int, seconds: float, tell: Tell) -> None:
    total = len(shards.products)
    done = total - sum(len(shards.part(shard)) for shard in shards.left)
    tell(FINDING, done, total)

    def more(products: int) -> None:
        nonlocal done
        done += products
        tell(FINDING, done, total)

    shards.make(workers, seconds, more)


def _said(table: ReactionTable, prepared: Prepared, folder: Path, out: Path) -> list[str]:
    a, library = prepared.arrays, prepared.library
    products = len(a["products.molecule"])
    groups = [group for group in library.groups if group != UNKNOWN]
    lines = [
        f"{len(table.reactions):,} reactions, {products:,} products, "
        + (f"{len(groups)} classes" if groups else "no classes"),
        f"templates of the {len(table.split.train):,} for training: {len(library.templates):,}, "
        f"with {len(library.centers):,} centers and {len(library.fragments):,} fragments",
        f"candidates of a product, in the mean: {a['products.center_counts'].mean():.1f} centers, "
        f"{a['products.run_counts'].mean():.1f} templates that make something, "
        f"{a['products.outcome_counts'].mean():.1f} outcomes",
    ]
    for part, number in (("training", 0), ("validation", 1), ("test", 2)):
        truth = a["reactions.truth"][a["reactions.part"] == number]
        if len(truth):
            reached = 100 * float(np.mean(truth >= 0))
            lines.append(f"{part}: {len(truth):,} reactions, {reached:.1f} % reached by a template")
    lines += _some("left out", table.left_out)
    slow: list[str] = list(prepared.about["too_slow"])
    lines += _some("too slow, and so without candidates", slow, most=len(slow))
    lines.append(f"{out} is all that is needed; {folder} may be deleted")
    return lines


def _some(what: str, listed: Sequence[str], most: int = _SHOWN) -> list[str]:
    lines = [f"{what}: {each}" for each in listed[:most]]
    if len(listed) > most:
        lines.append(f"… and {len(listed) - most:,} more rows {what}")
    return lines
