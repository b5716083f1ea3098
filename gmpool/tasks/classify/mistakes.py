"""The test graphs of which a model was most wrong, as rows of users' own data keep them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmpool.data import Dataset
from gmpool.report.recorded_mistakes import LONGEST

Array = NDArray[Any]
EACH = 12
"""Of a label column."""
MOST_LABELS = 4


def mistakes(
    dataset: Dataset,
    ids: Sequence[int],
    value: Array,
    truth: Array,
    *,
    deviation: Array | None = None,
    ranked: bool = True,
) -> list[dict[str, Any]]:
    """The largest errors of numbers, the wrong answers and classes of which the model was surest;
    label column by label column, the worst first.

    ids: of the graphs in the set. value: numbers [n, T], probabilities of yes [n, T] or of classes
    [n, C]; truth: [n, T], of classes [n], negative where it is not known. deviation: [n, T], of
    classes [n, 1]. ranked: whether the probabilities mean something.
    """
    graphs = dataset.graphs
    columns = truth[:, None] if graphs.task == "multiclass" else truth
    made = []
    for at, name in enumerate(graphs.task_names[:MOST_LABELS] or ("label",)):
        there = columns[:, at] >= 0 if graphs.task == "multiclass" else ~np.isnan(columns[:, at])
        error = np.full(len(columns), -np.inf)
        error[there] = _errors(graphs.task, value[there], columns[there, at], at)
        order = np.argsort(-error, kind="stable")[:EACH]
        for one in order[error[order] > (0.0 if graphs.task == "regression" else 0.5)].tolist():
            found = {"label": name, **_graph(dataset, ids[one])}
            found |= _said(dataset, value[one], columns[one, at], at, ranked=ranked)
            if deviation is not None:
                found["deviation"] = _short(deviation[one, at])
            made.append(found)
    return made


def _errors(task: str | None, value: Array, truth: Array, at: int) -> Array:
    """Of numbers how far off they are; of answers and classes the probability of what was said
    where that is wrong, else 0. [n]"""
    if task == "regression":
        return np.asarray(np.abs(value[:, at] - truth))
    if task == "binary":
        wrong = np.abs(value[:, at] - truth)
        return np.where(wrong > 0.5, wrong, 0.0)
    # The likeliest of many classes may have less than a half: what is wrong counts from 0.5 on.
    return np.where(value.argmax(1) == truth, 0.0, 0.5 + value.max(1) / 2)


def _graph(dataset: Dataset, graph: int) -> dict[str, Any]:
    """Its number in the set, counted from 0, the line of its table, and its molecule."""
    names = dataset.graphs.graph_names
    found: dict[str, Any] = {"graph": graph}
    if dataset.lines:
        found["line"] = dataset.lines[graph]
    if names is not None and dataset.molecules is not None and len(names[graph]) <= LONGEST:
        found["smiles"] = names[graph]
    return found


def _said(dataset: Dataset, value: Array, truth: float, at: int, *, ranked: bool) -> dict[str, Any]:
    graphs = dataset.graphs
    if graphs.task == "regression":
        return {"truth": _short(truth), "said": _short(value[at])}
    if graphs.task == "binary":
        yes = bool(value[at] > 0.5)
        words, probability = ("no", "yes"), value[at] if yes else 1 - value[at]
        found = {"truth": words[int(truth)], "said": words[yes]}
    else:
        best = int(value.argmax())
        names, probability = graphs.class_names, value[best]
        found = {"truth": names[int(truth)], "said": names[best]}
    return {**found, "probability": _short(probability)} if ranked else found


def _short(value: float) -> float:
    return float(f"{value:.6g}")
