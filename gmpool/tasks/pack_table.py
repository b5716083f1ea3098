"""A table of molecules, of any length, as one packed file that is trained from without being read
into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import tee
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gmpool.atomic_files import PathLike
from gmpool.data.dataset import Dataset
from gmpool.data.graph_rows import GraphRows, Part, graph_rows, packed
from gmpool.data.labels import label_fields
from gmpool.data.make_splits import with_splits
from gmpool.data.packed_fields import Task
from gmpool.data.sources.molecules import SHOWN_ERRORS
from gmpool.data.sources.packed_file import read, save
from gmpool.data.sources.packed_parts import PackedParts
from gmpool.data.sources.table_cells import stem
from gmpool.data.sources.table_numbers import Numbers, read_numbers
from gmpool.data.splits import Split, from_column
from gmpool.errors import DataError, UserError, unknown
from gmpool.tasks.crew import in_order

Told = Callable[[int, int | None], object]


def pack_table(
    source: PathLike,
    out: Path,
    *,
    smiles_column: str | None = None,
    label_columns: Sequence[str] = (),
    task: Task | None = None,
    split_column: str | None = None,
    split_seed: int | None = None,
    split_sizes: str | Sequence[float] | None = None,
    skip_bad_rows: bool = False,
    keep_smiles: bool = False,
    workers: int = 1,
    told: Told = lambda rows, total: None,
) -> Dataset:
    """The set that is then in the file; its graphs are those of :func:`gmpool.data.load_table`.

    Labels are numbers, in columns that are named. The split is that of a column with words, else
    random, whatever molecules repeat themselves. keep_smiles: graphs are called by their SMILES.
    workers: processes. told: how many rows of how many are done.
    """
    given = graph_rows(source, smiles_column=smiles_column)
    labels = [_position(given, name) for name in label_columns]
    split_at = None if split_column is None else _position(given, split_column)
    if split_at is not None and (split_seed is not None or split_sizes is not None):
        raise UserError(
            "the split is that of a column: leave out its seed and sizes, or the column"
        )
    with _folder_beside(out) as folder, PackedParts(folder, names=keep_smiles) as parts:
        reading = _Reading(given, parts, labels, split_at, str(source), skip_bad_rows)
        reading.read(workers, told)
        fields = {}
        if labels:
            values = np.concatenate(reading.values)
            fields = label_fields(values, tuple(label_columns), task, str(source))
        graphs = parts.together(stem(source), fields).validate()
        if split_at is None:
            made = Dataset.of(graphs, ())
            made = with_splits(made, "random", split_seed=split_seed, split_sizes=split_sizes)
            split, reason = made.folds[0], made.split_reason
        else:
            split, reason = reading.split(), f"column {split_column!r}"
        save(graphs, out, split)
    return _told(out, reading, reason)


@contextmanager
def _folder_beside(out: Path) -> Iterator[Path]:
    """For the parts; a disk that is full is told as such."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            yield Path(folder)
    except OSError as error:
        raise DataError(f"cannot write {out}: {error}") from error


def _told(out: Path, reading: _Reading, reason: str) -> Dataset:
    """What is in the file, with words on where it comes from."""
    graphs, split = read(out, verify=False)
    left_out = f", {reading.bad_rows:,} left out" if reading.bad_rows else ""
    about = (f"{reading.source}: {reading.rows:,} rows{left_out}", *reading.said)
    folds = () if split is None else (split,)
    return Dataset.of(graphs, folds, about=about, split_reason=reason)


def _position(given: GraphRows, name: str) -> int:
    if name not in given.columns:
        raise unknown("column", name, given.columns)
    return given.columns.index(name)


class _Reading:
    """Rows that were read, in parts."""

    def __init__(
        self,
        given: GraphRows,
        parts: PackedParts,
        labels: Sequence[int],
        split_at: int | None,
        source: str,
        skip_bad_rows: bool,
    ) -> None:
        self.given, self.parts, self.labels, self.split_at = given, parts, labels, split_at
        self.source, self.skip_bad_rows = source, skip_bad_rows
        self.values: list[NDArray[np.float64]] = []
        self.words: list[str] = []
        self.lines: list[int] = []
        self.commas: set[int] = set()
        self.points: set[int] = set()
        """The label columns that have decimal commas in some part, and those with points."""
        self.said: list[str] = []
        """The first rows that were left out."""
        self.rows = self.bad_rows = 0

    def read(self, workers: int, told: Told) -> None:
        kept, asked = tee(self.given.parts)
        contents = (part.given for part in asked)
        with closing(in_order(packed, contents, workers)) as made:
            for part, (graphs, bad) in zip(kept, made, strict=True):
                rows = self._rows(part, bad)
                self.rows += len(part.rows)
                # Of the graphs there are, those whose labels can be taken.
                self.parts.add(graphs if all(rows) else graphs.select(_there(rows)))
                told(self.rows, self.given.total)
        if not self.parts.graphs:
            raise DataError(f"{self.source}: no usable row")

    def _rows(self, part: Part, bad: dict[int, str]) -> list[bool]:
        """Of each graph that could be made whether its row is kept."""
        columns = [self._numbers(part, at) for at in self.labels]
        values = np.stack([c.values for c in columns], 1) if columns else np.empty((0, 0))
        kept: list[bool] = []
        taken: list[int] = []
        number = 0
        for row, problem in enumerate(part.problems):
            why = problem
            if problem is None:
                why = bad.get(number)
                made = why is None
                number += 1
                if made:
                    why = self._wrong(part, columns, row)
                    kept.append(why is None)
            if why is None:
                taken.append(row)
            else:
                self._leave_out(f"{part.places[row]}: {why}")
        if columns:
            self.values.append(values[taken])
        if self.split_at is not None:
            self.words += [part.rows[row][self.split_at] for row in taken]
            self.lines += [int(part.places[row].rpartition(":")[2]) for row in taken]
        return kept

    def _numbers(self, part: Part, at: int) -> Numbers:
        cells = [row[at] for row in part.rows]
        found = read_numbers(cells)
        if found.decimal_comma:
            self.commas.add(at)
        if any("." in cell and cell not in found.wrong for cell in cells):
            self.points.add(at)
        if at in self.commas & self.points:
            raise DataError(
                f"{part.places[0]} or after it: column {self.given.columns[at]!r} has commas in "
                "some of its numbers and points in others; write all with a point"
            )
        return found

    def _wrong(self, part: Part, columns: Sequence[Numbers], row: int) -> str | None:
        for at, column in zip(self.labels, columns, strict=True):
            cell = part.rows[row][at]
            if reason := column.wrong.get(cell):
                return f"label {cell!r} in column {self.given.columns[at]!r} {reason}"
        return None

    def _leave_out(self, said: str) -> None:
        if not self.skip_bad_rows:
            raise DataError(f"{said}; correct it, or leave such rows out with --skip-bad-rows")
        self.bad_rows += 1
        if len(self.said) < SHOWN_ERRORS:
            self.said.append(f"left out: {said}")

    def split(self) -> Split:
        return from_column(self.words, where=self.source, lines=self.lines)


def _there(rows: Sequence[bool]) -> list[int]:
    return [number for number, there in enumerate(rows) if there]
