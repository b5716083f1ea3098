"""Every score of one label column, or why it is not defined."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmpool.report.roc import area, average_precision, roc_points, thresholds

Array = NDArray[Any]
Found = dict[str, float | str]
"""By name a score, or why it is not defined."""
OF_ANSWERS = ("roc_auc", "pr_auc", "accuracy", "f1")
OF_NUMBERS = ("rmse", "mae", "r2")
OF_CLASSES = ("accuracy", "f1")
DIVERGED = "the model's outputs are not all numbers"
UNRANKED = "the method names a class and gives no score for it"


def wanted_scores(task: str, classes: int) -> Sequence[str]:
    """Which there are. classes: of two named ones the scores are those of answers."""
    if task == "regression":
        return OF_NUMBERS
    return OF_CLASSES if task == "multiclass" and classes != 2 else OF_ANSWERS


def column_scores(
    task: str, out: Array, truth: Array, part: str = "test", *, ranked: bool = True
) -> Found:
    """Of one label column, without gaps, in that part. out [n], of classes [n, C]; truth [n]"""
    wanted = wanted_scores(task, out.shape[1] if task == "multiclass" else 1)
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
    return area(false, found), average_precision(said, hits)


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
