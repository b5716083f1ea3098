"""New data with their labels, as a trained model understands them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gmpool.atomic_files import PathLike
from gmpool.data import Dataset, PackedGraphs, load
from gmpool.data.dataset import SOURCES, source_of
from gmpool.data.sources.molecules import SHOWN_ERRORS
from gmpool.data.sources.table_cells import is_frame, is_missing
from gmpool.data.sources.table_columns import quoted, shown
from gmpool.data.sources.table_numbers import read_numbers
from gmpool.errors import DataError
from gmpool.tasks.classify.sureness import Array
from gmpool.tasks.predictions import PredictedRow, Predictions
from gmpool.tasks.shape import DataShape

Wrong = list[tuple[int, str]]
"""Rows with a label that cannot be taken, and why."""


class Labelled(NamedTuple):
    """Rows with a prediction, and what is true of them."""

    said: list[PredictedRow]
    kept: int
    """So many cells of each row are the input's."""
    y: Array
    """Numbers, yes and no, or classes [n, T]; NaN is missing."""
    rows: int
    bad: list[str]
    """Rows without a prediction, as place: problem."""
    unusable: Sequence[str] = ()
    """Labels that were taken for gaps, as place: problem."""


def is_table(source: Any) -> bool:
    if isinstance(source, Dataset | PackedGraphs):
        return False
    return is_frame(source) or source_of(str(source)) is SOURCES["table"]


def labels_of_cells(
    made: Predictions,
    shape: DataShape,
    names: Sequence[str],
    kept: int,
    *,
    skip_bad_labels: bool,
    told: Callable[[int, int | None], object],
) -> Labelled:
    """Of a table. names: of the columns with labels."""
    header = made.columns[:kept]
    missing = [name for name in names if name not in header]
    if missing:
        raise DataError(
            f"there is no column {missing[0]!r}, which the model was trained to predict (columns: "
            f"{quoted([(name, '') for name in header])}); rename the one that holds it, or name "
            "the labels that are there with --label"
        )
    at = [header.index(name) for name in names]
    said, bad, rows = [], [], 0
    for part in made.parts:
        rows += len(part)
        said += [row for row in part if row.problem is None]
        bad += [f"{row.place}: {row.problem}" for row in part if row.problem is not None]
        told(rows, made.total)
    columns = [[str(row.cells[i]) for row in said] for i in at]
    read = _classes if shape.task == "multiclass" else _numbers
    found = [read(cells, shape) for cells in columns]
    wrong = [
        f"{said[row].place}: label {shown(columns[t][row])} in column {names[t]!r} {why}"
        for t, (_, of_column) in enumerate(found)
        for row, why in of_column
    ]
    if wrong and not skip_bad_labels:
        first = "\n  ".join(wrong[:SHOWN_ERRORS])
        raise DataError(
            f"{len(wrong)} labels cannot be used:\n  {first}\n"
            "correct them, or take them for gaps with --skip-bad-labels"
        )
    y = np.stack([values for values, _ in found], 1)
    return Labelled(said, kept, y, rows, bad, wrong)


def _numbers(cells: Sequence[str], shape: DataShape) -> tuple[Array, Wrong]:
    numbers = read_numbers(cells)
    wrong = [(row, numbers.wrong[cell]) for row, cell in enumerate(cells) if cell in numbers.wrong]
    values = numbers.values.copy()
    if shape.task == "binary":
        unfit = ~np.isnan(values) & ~np.isin(values, (0.0, 1.0))
        wrong += [(row, "is not 0, 1 or empty") for row in np.flatnonzero(unfit).tolist()]
        values[unfit] = np.nan
    return values, wrong


def _classes(cells: Sequence[str], shape: DataShape) -> tuple[Array, Wrong]:
    number = {name: i for i, name in enumerate(shape.class_names)}
    values, wrong = np.full(len(cells), np.nan), []
    for row, cell in enumerate(cells):
        name = cell.strip()
        if name in number or _plain(name) in number:
            values[row] = number.get(name, number.get(_plain(name), 0))
        elif not is_missing(name):
            wrong.append((row, f"is no class of the model ({', '.join(shape.class_names)})"))
    return values, wrong


def _plain(text: str) -> str:
    """A number as classes are called: 2 for 2.0."""
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def labels_of_graphs(
    source: Any,
    root: PathLike | None,
    shape: DataShape,
    names: Sequence[str],
    *,
    skip_bad_labels: bool = False,
) -> tuple[PackedGraphs, Array, list[str]]:
    """(graphs of a set that is no table, their labels [G, T], those that were taken for gaps)"""
    graphs = source if isinstance(source, PackedGraphs) else None
    if graphs is None:
        graphs = (source if isinstance(source, Dataset) else load(source, root)).graphs
    if graphs.y is None:
        raise DataError(f"{graphs.name} has no labels to compare with")
    y = graphs.y.double().cpu().numpy()
    if graphs.task == shape.task == "multiclass":
        classes, wrong = _as_the_models(graphs, y, shape, skip_bad_labels=skip_bad_labels)
        return graphs, classes[:, None], wrong
    there = graphs.task_names
    if graphs.task != shape.task or not set(names) <= set(there):
        raise DataError(
            f"{graphs.name} has {graphs.task} labels {', '.join(there) or '(without names)'}; the "
            f"model predicts {shape.task} labels {', '.join(names)}"
        )
    return graphs, y[:, [there.index(name) for name in names]], []


def _as_the_models(
    graphs: PackedGraphs, y: Array, shape: DataShape, *, skip_bad_labels: bool
) -> tuple[Array, list[str]]:
    """(classes as the model numbers them, where NaN is missing [G], those that it has not)"""
    number = {name: i for i, name in enumerate(shape.class_names)}
    each = np.array([number.get(name, np.nan) for name in graphs.class_names])
    classes = np.where(y < 0, np.nan, each[y.astype(np.int64).clip(0)])
    unknown = np.flatnonzero((y >= 0) & np.isnan(classes)).tolist()
    names = {i: graphs.class_names[int(y[i])] for i in unknown}
    if names and not skip_bad_labels:
        said = ", ".join(sorted({*names.values()}))
        raise DataError(
            f"{graphs.name} has graphs of the class {said}, which the model does not know "
            f"({', '.join(shape.class_names)}); take such labels for gaps with --skip-bad-labels"
        )
    return classes, [
        f"graph {i}: class {shown(name)} is none of the model" for i, name in names.items()
    ]
