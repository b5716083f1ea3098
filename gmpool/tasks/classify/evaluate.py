"""What a trained model is worth on new data whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmpool.atomic_files import PathLike
from gmpool.data import PackedGraphs
from gmpool.errors import UserError, unknown
from gmpool.report.bootstrap import DRAWS, Ids, bootstrap_intervals
from gmpool.report.calibration_error import calibration_error
from gmpool.report.column_scores import column_scores
from gmpool.report.evaluation_grid import Evaluation, LabelScores, evaluation_grid
from gmpool.report.grid import Grid
from gmpool.tasks.classify.ensemble import Ensemble
from gmpool.tasks.classify.labelled import (
    Labelled,
    is_table,
    labels_of_cells,
    labels_of_graphs,
)
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import (
    ANSWERS,
    OR,
    label_names,
    prediction_columns,
    predictions,
    says_std,
    set_word,
)
from gmpool.tasks.classify.sureness import Array
from gmpool.tasks.shape import DataShape

COVERAGE = 0.9
PART = "given"
CALIBRATION = "calibration_error"
SMALL, FEWEST_DRAWS = 5_000, 200
"""Of so many labels all draws are taken, of more fewer: there they differ less."""
MOST_LABELS = 30
"""Of more label columns no intervals are drawn."""
Told = Callable[[int, int | None], object]


def evaluation(
    model: GraphModel | Ensemble,
    source: Any,
    root: PathLike | None = None,
    *,
    label: Sequence[str] | None = None,
    coverage: float | None = None,
    skip_bad_labels: bool = False,
    told: Told = lambda rows, total: None,
    **options: Any,
) -> list[Grid]:
    """label: only these of the model's. coverage: of intervals and sets; without it 0.9, where the
    model can promise it. told: of how many rows of how many are done. options: of `predictions`."""
    shape = model.shape
    names = _chosen(label, label_names(shape))
    if coverage is None and _can_promise(model, COVERAGE):
        coverage = COVERAGE
    columns = prediction_columns(shape, has_std=says_std(model), has_ranges=coverage is not None)
    if is_table(source):
        made = predictions(model, source, root, coverage=coverage, **options)
        kept = len(made.columns) - len(columns) - 1
        known = labels_of_cells(
            made, shape, names, kept, skip_bad_labels=skip_bad_labels, told=told
        )
    else:
        graphs, y, wrong = labels_of_graphs(
            source, root, shape, names, skip_bad_labels=skip_bad_labels
        )
        known = _of_graphs(model, graphs, y, coverage, told, options)
        known = known._replace(unusable=wrong)
    found = [_label(shape, known, list(columns), names, name, coverage) for name in names]
    draws = _draws(len(known.said), len(names))
    about = Evaluation(known.rows, known.bad, coverage, draws, known.unusable)
    return [evaluation_grid(found, about)]


def _of_graphs(
    model: GraphModel | Ensemble,
    graphs: PackedGraphs,
    y: Array,
    coverage: float | None,
    told: Told,
    options: Mapping[str, Any],
) -> Labelled:
    made = predictions(model, graphs, coverage=coverage, **options)
    rows = []
    for part in made.parts:
        rows += part
        told(len(rows), made.total)
    good = [i for i, row in enumerate(rows) if row.problem is None]
    bad = [f"{row.place}: {row.problem}" for row in rows if row.problem is not None]
    return Labelled([rows[i] for i in good], 1, y[good], len(rows), bad)


def _chosen(asked: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    for name in asked or ():
        if name not in known:
            raise unknown("label of the model", name, known)
    return list(dict.fromkeys(asked or known))


def _can_promise(model: GraphModel | Ensemble, coverage: float) -> bool:
    if not isinstance(model, Ensemble):
        return False
    try:
        model.sure.require(coverage)
    except UserError:
        return False
    return True


def _draws(graphs: int, labels: int) -> int:
    if labels > MOST_LABELS:
        return 0
    return max(FEWEST_DRAWS, min(DRAWS, DRAWS * SMALL // max(graphs, 1)))


@dataclass(frozen=True)
class _Column:
    """What was said of one label and what is true, without gaps. [n]"""

    task: str
    out: Array
    """Values or log odds [n], or probabilities of classes [n, C]."""
    truth: NDArray[Any]
    inside: NDArray[np.bool_] | None
    """Whether the interval or the set holds the truth."""
    size: Array | None
    """How wide the interval is, or how many labels are in the set."""

    def scores(self, ids: Ids) -> dict[str, float | str]:
        out, truth = self.out[ids], self.truth[ids]
        found = column_scores(self.task, out, truth, PART)
        if not len(truth):
            return found
        if self.task == "binary":
            found[CALIBRATION] = 100 * calibration_error(1 / (1 + np.exp(-out)), truth)
        elif self.task == "multiclass":
            right = out.argmax(1) == truth
            found[CALIBRATION] = 100 * calibration_error(out.max(1), right)
        if self.inside is not None and self.size is not None:
            found["inside"] = 100 * float(self.inside[ids].mean())
            found["size"] = float(self.size[ids].mean())
        return found

    def numbers(self, ids: Ids) -> dict[str, float | None]:
        """Those that draws of the rows say something of: the calibration error is larger in most
        draws than in the rows themselves."""
        scores = self.scores(ids)
        scores.pop(CALIBRATION, None)
        return {name: None if isinstance(score, str) else score for name, score in scores.items()}


def _label(
    shape: DataShape,
    known: Labelled,
    columns: list[str],
    names: Sequence[str],
    name: str,
    coverage: float | None,
) -> LabelScores:
    y = known.y[:, names.index(name)]
    there = np.flatnonzero(~np.isnan(y))
    rows = [known.said[i].cells[known.kept :] for i in there.tolist()]
    column = _column(shape, rows, columns, y[there], name, has_ranges=coverage is not None)
    every = np.arange(len(there))
    draws = _draws(len(known.said), len(names))
    intervals = bootstrap_intervals(column.numbers, len(there), draws=draws) if draws else {}
    missing = len(known.said) - len(there)
    return LabelScores(name, len(there), missing, column.scores(every), intervals)


def _column(
    shape: DataShape,
    rows: Sequence[Sequence[Any]],
    columns: list[str],
    truth: Array,
    name: str,
    *,
    has_ranges: bool,
) -> _Column:
    def said(column: str) -> Array:
        at = columns.index(column)
        return np.array([row[at] for row in rows], np.float64)

    inside = size = None
    if shape.task == "regression":
        if has_ranges:
            low, high = said(f"low_{name}"), said(f"high_{name}")
            inside, size = (low <= truth) & (truth <= high), high - low
        return _Column(shape.task, said(f"pred_{name}"), truth, inside, size)
    if has_ranges:
        words = [set_word(word) for word in shape.class_names or ANSWERS]
        at = columns.index(f"set_{name}")
        sets = [row[at].split(OR) if row[at] else [] for row in rows]
        true = [words[int(number)] for number in truth]
        inside = np.array([word in of for word, of in zip(true, sets, strict=True)], bool)
        size = np.array([len(of) for of in sets], np.float64)
    if shape.task == "binary":
        p = said(f"p_{name}").clip(1e-12, 1 - 1e-12)
        return _Column(shape.task, np.log(p) - np.log1p(-p), truth, inside, size)
    each = [said(f"p_{word}") for word in shape.class_names]
    out = np.stack(each, 1).reshape(len(rows), len(each))
    return _Column(shape.task, out, truth.astype(np.int64), inside, size)
