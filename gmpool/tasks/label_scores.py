"""Every score of each label column by itself, in its own unit, and why one is not defined.

In a row they stand column by column, which keeps rows small where there are hundreds of labels:

    {"labels": ["logP", "pKa"],
     "test": {"count": [12, 0], "rmse": [0.5, None], …,
              "undefined": {"pKa": {"rmse": "no label in the test part", …}}}, "valid": {…}}
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gmpool.report.roc import area, roc_points, thresholds
from gmpool.tasks.trainable import Rows

Array = NDArray[Any]
Found = dict[str, float | str]
"""By name a score, or why it is not defined."""
OF_ANSWERS = ("roc_auc", "pr_auc", "accuracy", "f1")
OF_NUMBERS = ("rmse", "mae", "r2")
OF_CLASSES = ("accuracy", "f1")
DIVERGED = "the model's outputs are not all numbers"
UNRANKED = "the method names a class and gives no score for it"


def label_scores(
    task: str, names: Sequence[str], parts: Mapping[str, Rows], *, ranked: bool = True
) -> dict[str, Any]:
    """What a row says, of the outputs, in the unit of the labels, and labels of each part.

    task: multiclass, binary or regression. ranked: whether the outputs say how sure a class is.
    """
    return {
        "labels": list(names),
        **{part: _part(task, names, part, *rows, ranked=ranked) for part, rows in parts.items()},
    }


def _part(
    task: str, names: Sequence[str], part: str, out: Tensor, y: Tensor, *, ranked: bool
) -> dict[str, Any]:
    outputs, labels = out.double().numpy(), y.double().numpy()
    wanted: Sequence[str]
    if task == "multiclass":
        there = labels >= 0
        columns = [(outputs[there], labels[there].astype(np.int64))]
        wanted = OF_ANSWERS if outputs.shape[1] == 2 else OF_CLASSES
    else:
        known = ~np.isnan(labels)
        columns = [(o[k], t[k]) for o, t, k in zip(outputs.T, labels.T, known.T, strict=True)]
        wanted = OF_ANSWERS if task == "binary" else OF_NUMBERS
    made: dict[str, Any] = {"count": [len(truth) for _, truth in columns]}
    found = [_scores(task, wanted, *column, part, ranked=ranked) for column in columns]
    for score in wanted:
        made[score] = [_number(each[score]) for each in found]
    why = {
        name: {score: reason for score, reason in each.items() if isinstance(reason, str)}
        for name, each in zip(names, found, strict=True)
    }
    undefined = {name: reasons for name, reasons in why.items() if reasons}
    return made | ({"undefined": undefined} if undefined else {})


def _number(value: float | str) -> float | None:
    """Seven significant digits are what float32 outputs have."""
    return None if isinstance(value, str) else float(f"{value:.7g}")


def _scores(
    task: str, wanted: Sequence[str], out: Array, truth: Array, part: str, *, ranked: bool
) -> Found:
    """Of one label column, without gaps. out [n], of classes [n, C]; truth [n]"""
    if not len(truth):
        return dict.fromkeys(wanted, f"no label in the {part} part")
    if not np.isfinite(out).all():
        return dict.fromkeys(wanted, DIVERGED)
    if task == "regression":
        return _of_numbers(out, truth, part)
    found: Found = {}
    if task == "binary":
        said, truth = out > 0, truth > 0.5
        yes_is_named = bool((said | truth).any())
        found["f1"] = _f1(said, truth) if yes_is_named else f"no yes in the {part} part"
    else:
        said = out.argmax(1)
        named = np.union1d(said, truth)
        found["f1"] = float(np.mean([_f1(said == c, truth == c) for c in named]))
    found["accuracy"] = 100 * float((said == truth).mean())
    if "roc_auc" in wanted:
        found |= _ranking(task, out, truth, part, ranked=ranked)
    return found


def _ranking(task: str, out: Array, truth: Array, part: str, *, ranked: bool) -> Found:
    """Of two named classes, of which none is the yes, PR-AUC is the mean over both."""
    why = UNRANKED if not ranked else ""
    if len(np.unique(truth)) < 2:
        why = f"one class only in the {part} part"
    if why:
        return {"roc_auc": why, "pr_auc": why}
    score, yes = (out, truth) if task == "binary" else (out[:, 1] - out[:, 0], truth == 1)
    roc, precision = _areas(score, yes)
    if task == "multiclass":
        precision = (precision + _areas(-score, ~yes)[1]) / 2
    return {"roc_auc": 100 * roc, "pr_auc": 100 * precision}


def _areas(score: Array, yes: Array) -> tuple[float, float]:
    """(area under the ROC curve, average precision); equal scores are one point of the curves."""
    said, hits = thresholds(score, yes)
    false, found = roc_points(said, hits)
    return area(false, found), float(np.sum(np.diff(found, prepend=0.0) * hits / said))


def _f1(said: Array, truth: Array) -> float:
    """In percent, of one class that some are or are said to be."""
    return 200 * float((said & truth).sum() / (said.sum() + truth.sum()))


def _of_numbers(out: Array, truth: Array, part: str) -> Found:
    error = out - truth
    around = truth - truth.mean()
    r2: float | str = f"fewer than two labels in the {part} part"
    if len(truth) > 1:
        r2 = f"all labels are equal in the {part} part"
    if (truth != truth[0]).any():
        r2 = 1 - float((error**2).sum() / (around**2).sum())
    return {
        "rmse": float(np.sqrt((error**2).mean())), "mae": float(np.abs(error).mean()), "r2": r2,
    }  # fmt: skip
