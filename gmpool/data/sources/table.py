"""A table of molecules, one SMILES and its labels per row: a CSV as people have them (any common
separator and encoding, plain or compressed), a .smi or .parquet file, or a pandas DataFrame."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import SOURCES, Dataset, Source
from gmpool.data.labels import check_task, class_fields, label_fields
from gmpool.data.molecule_groups import MoleculeGroups
from gmpool.data.ordered_splits import Times
from gmpool.data.packed import PackedGraphs
from gmpool.data.packed_fields import Task
from gmpool.data.sources.atom_types import AtomTypePacker
from gmpool.data.sources.molecules import SHOWN_ERRORS, BadSmiles, MoleculePacker
from gmpool.data.sources.table_cells import SUFFIXES, stem
from gmpool.data.sources.table_columns import Table
from gmpool.data.sources.table_labels import Labels, find_labels, wrong_labels
from gmpool.data.sources.table_split import ColumnSplit, split_table
from gmpool.data.sources.table_times import read_times, times_of
from gmpool.data.split_request import NO_SPLIT, OPTIONS, SplitRequest
from gmpool.data.splits import Split, folds_from_column, from_column
from gmpool.errors import DataError, UserError, unknown


class _Reading(NamedTuple):
    """What a table held."""

    graphs: PackedGraphs
    split: ColumnSplit | None
    skipped: list[str]
    lines: list[int]
    about: tuple[str, ...]
    times: Times | None


def read_csv(
    path: PathLike | Any,
    smiles_column: str | None = None,
    label_columns: Sequence[str] | None = None,
    task: Task | None = None,
    split_column: str | None = None,
    skip_bad_rows: bool = False,
    packer: MoleculePacker | None = None,
    skip_bad_labels: bool = False,
) -> tuple[PackedGraphs, Split | None, list[str]]:
    """Reads a table with a header row; returns the graphs, the split, and the rows left out.

    - SMILES: ``smiles_column``, else the column called smiles in any case, or with one of a few
      other names, such as canonical_smiles or structure.
    - Split: ``split_column``, else a column called split or one whose words are all train, valid
      (val, validation, dev) or test; "none" reads none. A cell that says something else is an
      error.
    - Labels: ``label_columns``; () reads none. Without it: the columns that can only be labels of
      one task, as :mod:`gmpool.data.sources.table_labels` says. Empty cells, NaN, NA and the like
      are missing labels.
    - Task: ``task``, else as :func:`gmpool.data.labels.infer_task` says (0/1: binary; 0..C-1 or
      1..C: multiclass; other numbers: regression; words: multiclass).
    - A row with the wrong number of fields, an unreadable SMILES or a label of the wrong kind is an
      error, unless ``skip_bad_rows`` leaves it out and reports it in the third result;
      ``skip_bad_labels`` leaves out only the label.
    - ``packer`` decides what an atom and a bond become; without it, OGB's features.
    """
    read = _read(
        path,
        smiles_column=smiles_column,
        label_columns=label_columns,
        task=task,
        split_column=split_column,
        skip_bad_rows=skip_bad_rows,
        packer=packer,
        skip_bad_labels=skip_bad_labels,
    )
    if read.split is None:
        return read.graphs, None, read.skipped
    if len(read.split.folds) > 1:
        raise UserError(f"{path}: {split_column!r} makes several folds; read them with load_table")
    return read.graphs, read.split.folds[0], read.skipped


def _read(
    path: PathLike | Any,
    *,
    smiles_column: str | None = None,
    label_columns: Sequence[str] | None = None,
    task: Task | None = None,
    split_column: str | None = None,
    skip_bad_rows: bool = False,
    packer: MoleculePacker | None = None,
    skip_bad_labels: bool = False,
    time_column: str | None = None,
) -> _Reading:
    check_task(task)
    table = Table.read(path)
    smiles_at = table.find_smiles(smiles_column)
    split_at = table.find_split(split_column)
    time_at = None if time_column is None else table.position(time_column)
    labels = find_labels(table, label_columns, {smiles_at, split_at, time_at}, task)
    wrong = wrong_labels(table, labels, task)
    times, timeless = (None, {}) if time_at is None else read_times(table, time_at)

    packer = packer or MoleculePacker()
    kept: list[int] = []
    bad, dropped = list(table.bad), []
    needs_label = labels.words or task == "multiclass"
    for row, (line, cells) in enumerate(zip(table.lines, table.rows, strict=True)):
        reasons = wrong.get(row, ())
        if reasons and not (skip_bad_labels and not needs_label):
            bad.append((line, reasons[0]))
            continue
        if row in timeless:
            bad.append((line, timeless[row]))
            continue
        try:
            packer.add(cells[smiles_at].strip())
        except BadSmiles as error:
            bad.append((line, str(error)))
            continue
        kept.append(row)
        dropped += [f"{table.path}:{line}: {reason}" for reason in reasons]
    skipped = [f"{table.path}:{line}: {reason}" for line, reason in sorted(bad)]
    count = len(table.rows) + len(table.bad)
    if skipped and not skip_bad_rows:
        gaps = wrong and not skip_bad_labels and not needs_label
        raise DataError(
            f"{len(skipped)} of {count} rows cannot be used:\n"
            + "\n".join(f"  {line}" for line in _first(skipped, "and {} more"))
            + "\ncorrect them, or leave them out with --skip-bad-rows"
            + (", or only the bad labels with --skip-bad-labels" if gaps else "")
        )
    if not kept:
        raise DataError(f"{table.path}: no usable row; the first problem is {skipped[0]}")

    lines = [table.lines[row] for row in kept]
    split = None if split_at is None else _column_split(table, split_at, kept, lines)
    when = None if time_at is None or times is None else times_of(table, time_at, times, kept)
    graphs = packer.finish(stem(path), **_fields(table, labels, kept, task)).validate()
    left_out = f", {len(skipped):,} left out" if skipped else ""
    comma = any(table.numbers(at).decimal_comma for at in labels.columns)
    form = table.form if "decimal" in table.form or not comma else f"{table.form}, decimal comma"
    about = [
        f"{table.path}: {form}, {count:,} rows{left_out}",
        f"molecules: column {table.header[smiles_at]!r}",
        *(f"left out: {line}" for line in _first(skipped, "{} more rows")),
        *(f"label left out: {line}" for line in _first(dropped, "{} more labels")),
        *([f"not used: {labels.unused}"] if labels.unused else []),
    ]
    return _Reading(graphs, split, skipped, lines, tuple(about), when)


def _column_split(table: Table, at: int, kept: list[int], lines: list[int]) -> ColumnSplit:
    if table.numbers(at).numeric:
        numbers = table.numbers(at).values[kept].tolist()
        folds = folds_from_column(numbers, where=table.path, lines=lines)
    else:
        parts = [table.rows[row][at] for row in kept]
        folds = (from_column(parts, where=table.path, lines=lines),)
    return ColumnSplit(table.header[at], folds, table.path)


def _first(lines: Sequence[str], more: str) -> list[str]:
    rest = len(lines) - SHOWN_ERRORS
    return [*lines[:SHOWN_ERRORS], *([more.format(f"{rest:,}")] if rest > 0 else [])]


def _fields(table: Table, labels: Labels, kept: list[int], task: Task | None) -> dict[str, Any]:
    """y and what belongs to it."""
    names = tuple(table.header[at] for at in labels.columns)
    if not names:
        return {}
    if labels.words:
        at = labels.columns[0]
        return class_fields([table.rows[row][at].strip() for row in kept], names[0])
    values = np.stack([table.numbers(at).values[kept] for at in labels.columns], axis=1)
    for at, column in zip(labels.columns, values.T, strict=True):
        if task == "binary":  # what is no answer was left out
            column[~np.isin(column, (0.0, 1.0))] = np.nan
        if np.isnan(column).all():
            raise DataError(f"{table.path}: label column {table.header[at]!r} has no usable value")
    return label_fields(values, names, task, table.path)


def load_table(
    path: PathLike | Any,
    *,
    atoms: Literal["features", "types"] = "features",
    split: str | None = None,
    folds: int | None = None,
    repeats: int | None = None,
    split_seed: int | None = None,
    split_sizes: str | Sequence[float] | None = None,
    time_column: str | None = None,
    **columns: Any,
) -> Dataset:
    """A user's table or DataFrame; ``columns`` are the options of :func:`read_csv`.

    Without a split column there is one random split, 80/10/10, always the same; numbers in a named
    one are folds; where it has no valid part a tenth of train is taken. ``split`` says otherwise:
    "random", "stratified", "scaffold", with ``folds`` and so on as
    :func:`gmpool.data.make_splits.with_splits` has them; "time", which tests the latest rows by
    ``time_column``; "column", which takes what a column says.

    ``atoms="types"`` makes a set like ZINC, whose atom types are the target: one category per atom,
    named in ``node_type_names``, bonds single, double or triple, and no label unless its column is
    named.
    """
    if atoms not in ("features", "types"):
        raise unknown("kind of atoms", atoms, ("features", "types"))
    named = columns.get("split_column")
    request = SplitRequest.of(
        split, folds, repeats, split_seed, split_sizes, split_column=named, time_column=time_column
    )
    types = atoms == "types"
    if types and columns.get("label_columns") is None:
        columns["label_columns"] = ()
    if request.is_made:
        columns["split_column"] = NO_SPLIT
    packer = AtomTypePacker() if types else None
    read = _read(path, packer=packer, time_column=time_column, **columns)
    about = read.about
    if types and read.graphs.y is not None:
        about = (*about, "the labels are not learned: what is rebuilt are the atoms")
    dataset = Dataset.of(
        read.graphs,
        (),
        tuple(read.skipped),
        about=about,
        lines=tuple(read.lines),
        molecules=MoleculeGroups.of(read.graphs),
        times=read.times,
    )
    learned = types or read.graphs.y is not None
    none_asked = (named or "").lower() == NO_SPLIT
    return split_table(dataset, request, read.split, none_asked=none_asked, learned=learned)


def is_table(path: PathLike) -> bool:
    """Whether a path ends as a table does."""
    return str(path).lower().endswith(SUFFIXES) and not Path(path).is_dir()


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
            "skip_bad_labels": "--skip-bad-labels",
            "time_column": "--time-column",
            **OPTIONS,
            "atoms": "",
        },
        what="a CSV",
    )
)
