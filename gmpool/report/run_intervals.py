"""Intervals of the scores of one run, from the outputs that its row keeps."""

from collections.abc import Mapping

import numpy as np

from gmpool.packed_numbers import Array
from gmpool.record import Row
from gmpool.report.bootstrap import Ids, bootstrap_intervals
from gmpool.report.column_scores import column_scores
from gmpool.report.recorded_outputs import Outputs, recorded_outputs

MOST_LABELS = 12
"""Of more columns none has an interval: each takes some tenths of a second."""


def run_intervals(row: Row) -> dict[tuple[str, str], tuple[float, float]]:
    """By label column and score, at 95 %, over draws of the test graphs. None where the row does
    not keep the outputs of all of them."""
    found = recorded_outputs(row)
    if found is None or len(found.labels) > MOST_LABELS or found.graphs > len(found.truth):
        return {}
    return {
        (name, metric): ends
        for at, name in enumerate(found.labels)
        for metric, ends in _of_column(found, at).items()
    }


def _of_column(found: Outputs, at: int) -> dict[str, tuple[float, float]]:
    there = ~np.isnan(found.truth[:, at])
    out, truth = _out(found, at)[there], found.truth[there, at]
    ranked = found.task != "multiclass" or found.margin is not None

    def scores(ids: Ids) -> Mapping[str, float | None]:
        made = column_scores(found.task, out[ids], truth[ids], ranked=ranked)
        return {name: None if isinstance(s, str) else s for name, s in made.items()}

    return bootstrap_intervals(scores, len(truth))


def _out(found: Outputs, at: int) -> Array:
    """As `column_scores` takes it: of classes [n, C], where what was said is the highest."""
    if found.task != "multiclass":
        return found.made[:, at]
    if found.margin is not None:
        return np.stack([np.zeros_like(found.margin), found.margin], 1)
    return np.eye(len(found.classes))[found.made[:, 0].astype(np.int64)]
