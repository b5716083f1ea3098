"""What rows say of runs on users' own data beside the score, so that a report needs the rows alone:
the data, what was said of the test part, how sure that was, and the worst mistakes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gmpool.data import CATALOGUE, Dataset, Split
from gmpool.errors import UserError
from gmpool.report.recorded_outputs import kept_graphs, packed_outputs
from gmpool.tasks.classify.ensemble import MEMBERS, Ensemble, said_by
from gmpool.tasks.classify.mistakes import mistakes
from gmpool.tasks.classify.part_labels import data_of
from gmpool.tasks.classify.sureness import Array, Sureness
from gmpool.tasks.label_scores import label_scores
from gmpool.tasks.trainable import Rows

PROMISED = (0.5, 0.8, 0.9, 0.95)
"""Coverages at which intervals and sets are tried."""


class Said(NamedTuple):
    """Of the test part by each member, and what makes probabilities or values of that."""

    members: Array  # [M, n, ·]
    sure: Sureness


def said_of(model: Any, outputs: Mapping[str, Rows]) -> Said | None:
    """None where a row keeps no outputs: without a test part, or where they are not all numbers.
    One model is calibrated as it is when it is saved."""
    if "test" not in outputs or not all(rows[0].isfinite().all() for rows in outputs.values()):
        return None
    if not len(kept_graphs(model.shape.task, outputs["test"][1].numpy())):
        return None
    if isinstance(model, Ensemble):
        return Said(outputs[MEMBERS][0].double().numpy(), model.sure)
    members = said_by(model, outputs["test"][0])[None].double().numpy()
    held = outputs.get("valid", ())
    sure = Sureness(model.shape, len(held[0]) if held else 0, crossed=False)
    if held:
        by = np.zeros(len(held[0]), np.int64)
        sure.fit(said_by(model, held[0])[None].double().numpy(), held[1].numpy(), by)
    return Said(members, sure)


def row_says(
    dataset: Dataset,
    split: Split,
    parts: Mapping[str, Rows],
    *,
    ranked: bool = True,
    said: Said | None = None,
) -> dict[str, Any]:
    """Each label column by itself, and of users' own data all else.

    parts: outputs in the unit of the labels, and labels.
    """
    graphs = dataset.graphs
    assert graphs.task is not None, "a set with folds has labels"
    scores = label_scores(graphs.task, graphs.task_names, parts, ranked=ranked)
    if not is_own(dataset):
        return {"scores": scores}
    found: dict[str, Any] = {"scores": scores, "data": data_of(dataset, split)}
    if "test" not in parts:
        return found
    made, truth = (rows.double().numpy() for rows in parts["test"])
    value, sure = (_likely(graphs.task, made), {}) if said is None else _sure_of(graphs.task, said)
    kept = packed_outputs(
        graphs.task, graphs.task_names, graphs.class_names, made, truth, ranked=ranked, **sure
    )
    if kept is None:
        return found
    found["outputs"] = kept
    if said is not None:
        found["sureness"] = _shares(graphs.task, said, truth)
    found["mistakes"] = mistakes(
        dataset, split.test.tolist(), value, truth, deviation=sure.get("deviation"),
        ranked=said is not None,
    )  # fmt: skip
    return found


def is_own(dataset: Dataset) -> bool:
    """Whether it is none of the catalogue's sets, whatever it is called."""
    entry = CATALOGUE.get(dataset.name)
    return entry is None or bool(entry.content and entry.content != dataset.digest)


def _sure_of(task: str, said: Said) -> tuple[Array, dict[str, Any]]:
    """(probabilities or values, what `packed_outputs` takes beside outputs and labels)"""
    value, std = said.sure.answer(said.members)
    found = {"line": said.sure.line.cpu().numpy()}
    if task == "multiclass":
        std = np.take_along_axis(std, value.argmax(1)[:, None], 1)
        found["sure"] = value.max(1)
    if len(said.members) > 1:
        found["deviation"] = std
    return value, found


def _shares(task: str, said: Said, truth: Array) -> dict[str, Any]:
    """How often intervals or sets held the truth, label column by label column, and how wide they
    were: the median width, or the mean number of answers."""
    ids = kept_graphs(task, truth)
    members, truth = said.members[:, ids], truth[ids]
    truth = truth[:, None] if truth.ndim == 1 else truth
    there = truth >= 0 if task == "multiclass" else ~np.isnan(truth)
    found: dict[str, Any] = {"held_out": said.sure.scores.shape[1], "promised": []}
    found |= {"share": [[] for _ in truth.T], "width": [[] for _ in truth.T]}
    for coverage in PROMISED:
        try:
            holds, width = _held(task, said.sure, members, truth, coverage)
        except UserError:  # so few held-out labels promise less
            break
        found["promised"].append(coverage)
        for t in range(truth.shape[1]):
            mine, wide = holds[there[:, t], t], width[there[:, t], t]
            middle = np.median if task == "regression" else np.mean
            found["share"][t].append(_short(mine.mean()) if len(mine) else None)
            found["width"][t].append(_short(middle(wide)) if len(wide) else None)
    return found


def _held(
    task: str, sure: Sureness, members: Array, truth: Array, coverage: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """(whether the truth is inside, how wide that is), [n, T] each."""
    if task == "regression":
        low, high = sure.intervals(members, coverage)
        return (low <= truth) & (truth <= high), high - low
    sets = sure.sets(members, coverage)  # [n, T, 2] or [n, 1, C]
    answer = np.where(truth < 0, 0, np.nan_to_num(truth)).astype(np.int64)
    return np.take_along_axis(sets, answer[..., None], 2)[..., 0], sets.sum(2)


def _likely(task: str, made: Array) -> Array:
    """Of a method that only ranks: in its order."""
    return made if task in ("regression", "multiclass") else 1 / (1 + np.exp(-made.clip(-500, 500)))


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def in_label_units(model: Any, outputs: Mapping[str, Rows]) -> dict[str, tuple[Tensor, Tensor]]:
    """The parts that scores are told of."""
    found = {}
    for part in ("valid", "test"):
        if part in outputs:
            out, y = outputs[part]
            found[part] = model.in_label_units(out), y
    return found
