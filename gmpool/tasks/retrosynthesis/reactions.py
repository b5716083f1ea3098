"""Reactions in a table: a column of mapped SMILES, and where they are known classes, parts and
templates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gmpool.data.sources.find_file import find, missing
from gmpool.data.sources.table_columns import Table
from gmpool.data.splits import Split, from_column, random_split
from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.chemistry import (
    BadReaction,
    extracted_template,
    pattern_text,
    read_reaction,
)
from gmpool.tasks.retrosynthesis.library import UNKNOWN

NAMED = {"USPTO-50k": "uspto50k.csv.xz"}
_REACTION_NAMES = ("rxn", "reaction", "reactions", "rxn_smiles", "reaction_smiles", "mapped_rxn")
_TEMPLATE_NAMES = ("retro_template", "template", "retro_templates")
_SHOWN_ERRORS = 5
CHUNK = 200
"""Rows that are read at a time."""


class Row(NamedTuple):
    """A row of the table, as it stands."""

    line: int
    text: str
    group: str
    template: str


class Reaction(NamedTuple):
    """product, reactants: canonical. template: from product to reactants."""

    line: int
    product: str
    reactants: tuple[str, ...]
    group: str
    template: str


@dataclass(frozen=True)
class ReactionTable:
    """name: of the set. split: of the reactions. left_out: rows that were skipped, with reasons."""

    name: str
    reactions: Sequence[Reaction]
    split: Split
    left_out: Sequence[str]


def source_path(source: str, root: Path | None) -> tuple[str, Path]:
    """(name of the set, where its table is) of a name or a path."""
    if source in NAMED:
        found = find([NAMED[source]], root)
        if found is None:
            raise missing(source, [NAMED[source]], "it is not fetched", root)
        return source, found
    path = Path(source)
    if not path.is_file():
        raise DataError(f"{source}: no such file; names of sets of reactions: {', '.join(NAMED)}")
    return path.name.split(".")[0], path


def read_rows(
    path: Path,
    *,
    reaction_column: str | None = None,
    class_column: str | None = None,
    template_column: str | None = None,
) -> tuple[Table, list[Row]]:
    """The rows without a look at their molecules. A column "none" is not read."""
    table = Table.read(path)
    reaction = _find(table, reaction_column, _REACTION_NAMES, "--reaction-column")
    if reaction is None:
        listed = ", ".join(map(repr, table.header))
        raise DataError(
            f"{path}: no column is called {' or '.join(_REACTION_NAMES[:2])}; name the one that "
            f"holds reactions with --reaction-column (columns: {listed})"
        )
    group = _find(table, class_column, ("class", "rxn_class", "reaction_class"), "--class-column")
    template = _find(table, template_column, _TEMPLATE_NAMES, "--template-column")

    def cell(cells: list[str], at: int | None) -> str:
        return UNKNOWN if at is None else cells[at].strip()

    rows = [
        Row(line, cells[reaction], cell(cells, group), cell(cells, template))
        for line, cells in zip(table.lines, table.rows, strict=True)
    ]
    return table, rows


def _find(table: Table, name: str | None, known: Sequence[str], flag: str) -> int | None:
    if name is not None:
        return None if name.lower() == "none" else table.position(name)
    found = [at for at, column in enumerate(table.header) if column.lower() in known]
    if len(found) > 1:
        several = ", ".join(repr(table.header[at]) for at in found)
        raise DataError(f"{table.path}: several columns may be meant, {several}; choose by {flag}")
    return found[0] if found else None


def read_chunk(rows: Sequence[Row]) -> list[Reaction | str]:
    """Each row as a reaction, or why it is none."""
    return [_read(row) for row in rows]


def _read(row: Row) -> Reaction | str:
    try:
        product, reactants = read_reaction(row.text)
        template = row.template or extracted_template(row.text)
        if template.count(">>") != 1:
            raise BadReaction(f"the template {template[:60]!r} is not product>>reactants")
        product_side, reactants_side = template.split(">>")
        for side in (product_side, *reactants_side.split(".")):
            pattern_text(side)  # raises where RDKit cannot read it
        return Reaction(row.line, product, reactants, row.group, template)
    except BadReaction as error:
        return str(error)


def reaction_table(
    name: str,
    table: Table,
    rows: Sequence[Row],
    read: Iterable[Reaction | str],
    *,
    split_column: str | None = None,
    skip_bad_rows: bool = False,
) -> ReactionTable:
    """read: what `read_chunk` has made of the rows. Without a column for it the split is random,
    always the same: eight tenths to learn from."""
    bad, kept, reactions = list(table.bad), [], []
    for at, found in enumerate(read):
        if isinstance(found, str):
            bad.append((rows[at].line, found))
        else:
            kept.append(at)
            reactions.append(found)
    said = [f"{table.path}:{line}: {reason}" for line, reason in sorted(bad)]
    if bad and not skip_bad_rows:
        more = f"\n… and {len(bad) - _SHOWN_ERRORS} more" if len(bad) > _SHOWN_ERRORS else ""
        raise DataError(
            "\n".join(said[:_SHOWN_ERRORS])
            + f"{more}\ncorrect these rows, or leave them out with --skip-bad-rows"
        )
    if not reactions:
        raise DataError(f"{table.path}: no row is a reaction that can be used")
    column = table.find_split(split_column)
    if column is None:
        split = random_split(len(reactions))
    else:
        words = [table.rows[row][column] for row in kept]
        lines = [table.lines[row] for row in kept]
        split = from_column(words, where=table.path, lines=lines)
    if not len(split.train):
        raise DataError(f"{table.path}: no row is for training, so there are no templates")
    return ReactionTable(name, reactions, split, said)


def chunks(rows: Sequence[Row]) -> list[Sequence[Row]]:
    return [rows[at : at + CHUNK] for at in range(0, len(rows), CHUNK)]
