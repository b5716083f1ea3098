"""A table of molecules: CSV or TSV, plain or compressed, one SMILES and its labels per row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.labels import check_task, class_fields, label_fields
from gmpool.data.packed import PackedGraphs
from gmpool.data.packed_fields import Task
from gmpool.data.sources.atom_types import AtomTypePacker
from gmpool.data.sources.molecules import SHOWN_ERRORS, BadSmiles, MoleculePacker
from gmpool.data.sources.table_columns import SUFFIXES, Table, row_labels, stem
from gmpool.data.splits import Split, from_column, random_split
from gmpool.errors import DataError, unknown


def read_csv(
    path: PathLike,
    smiles_column: str | None = None,
    label_columns: Sequence[str] | None = None,
    task: Task | None = None,
    split_column: str | None = None,
    skip_bad_rows: bool = False,
    packer: MoleculePacker | None = None,
) -> tuple[PackedGraphs, Split | None, list[str]]:
    """Reads a table with a header row; returns the graphs, the split, and the rows left out.

    - SMILES: ``smiles_column``, else the column called smiles in any case.
    - Split: ``split_column``, else a column called split whose words are train, valid, test.
    - Labels: ``label_columns``; () reads none. Without it: all other columns in which most values
      are numbers, except those called id, index, idx, name, line, row or ending in _id; when there
      is none, the only other column, as words for classes. Empty cells are missing labels.
    - Task: ``task``, else as :func:`gmpool.data.labels.infer_task` says (0/1: binary; 0..C-1 or
      1..C: multiclass; other numbers: regression; words: multiclass).
    - A row with the wrong number of fields, an unreadable SMILES or a label of the wrong kind is an
      error, unless ``skip_bad_rows`` leaves it out and reports it in the third result.
    - ``packer`` decides what an atom and a bond become; without it, OGB's features.
    """
    check_task(task)
    path = Path(path)
    table = Table.read(path)
    bad = list(table.bad)
    smiles_at = table.find_smiles(smiles_column)
    split_at = table.find_split(split_column)
    labels = table.find_labels(label_columns, {smiles_at, split_at}, task)

    packer = packer or MoleculePacker()
    kept: list[int] = []
    values: list[list[float]] = []
    for row, (line, cells) in enumerate(zip(table.lines, table.rows, strict=True)):
        try:
            numbers = [] if labels.words else row_labels(cells, labels, task, table.header)
            if labels.words and not cells[labels.columns[0]].strip():
                raise ValueError(f"no class in column {table.header[labels.columns[0]]!r}")
            packer.add(cells[smiles_at].strip())
        except (BadSmiles, ValueError) as error:
            bad.append((line, str(error)))
            continue
        kept.append(row)
        values.append(numbers)
    skipped = [f"{path}:{line}: {reason}" for line, reason in sorted(bad)]
    if skipped and not skip_bad_rows:
        shown = "\n  ".join(skipped[:SHOWN_ERRORS])
        more = f"\n  and {len(skipped) - SHOWN_ERRORS} more" * (len(skipped) > SHOWN_ERRORS)
        raise DataError(
            f"{len(skipped)} of {len(table.rows) + len(table.bad)} rows cannot be used:\n"
            f"  {shown}{more}\ncorrect them, or leave them out with --skip-bad-rows"
        )
    if not kept:
        raise DataError(f"{path}: no usable row; the first problem is {skipped[0]}")

    names = tuple(table.header[c] for c in labels.columns)
    fields: dict[str, Any] = {}
    if labels.words:
        words = [table.rows[row][labels.columns[0]].strip() for row in kept]
        fields = class_fields(words, names[0])
    elif names:
        fields = label_fields(np.array(values), names, task, str(path))
    split = None
    if split_at is not None:
        parts = [table.rows[row][split_at] for row in kept]
        split = from_column(parts, where=str(path), lines=[table.lines[row] for row in kept])
    return packer.finish(stem(path), **fields), split, skipped


def load_table(
    path: PathLike, *, atoms: Literal["features", "types"] = "features", **columns: Any
) -> Dataset:
    """A user's table; ``columns`` are the options of :func:`read_csv`.

    Without a split column there is one random split, 80/10/10, always the same. ``atoms="types"``
    makes a set like ZINC, whose atom types are the target: one category per atom, named in
    ``node_type_names``, bonds single, double or triple, and no label unless its column is named.
    """
    if atoms not in ("features", "types"):
        raise unknown("kind of atoms", atoms, ("features", "types"))
    types = atoms == "types"
    if types and columns.get("label_columns") is None:
        columns["label_columns"] = ()
    graphs, split, skipped = read_csv(path, packer=AtomTypePacker() if types else None, **columns)
    if split is None and (types or graphs.y is not None) and graphs.num_graphs >= 3:
        split = random_split(graphs.num_graphs)
    return Dataset.of(graphs, None if split is None else (split,), tuple(skipped))


def is_table(path: PathLike) -> bool:
    """Whether a path ends as a table does."""
    return str(path).endswith(SUFFIXES) and not Path(path).is_dir()


SOURCES.register("table")(
    Source(
        load=lambda path, root, **options: load_table(path, **options),
        accepts=is_table,
        files=", ".join(SUFFIXES),
        options={
            "smiles_column": "--smiles-column",
            "split_column": "--split-column",
            "label_columns": "--label",
            "task": "--task",
            "skip_bad_rows": "--skip-bad-rows",
            "atoms": "",
        },
        what="a CSV",
    )
)
