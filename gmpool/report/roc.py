"""The ROC and the precision-recall curve of answers, for scores and for pictures."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def thresholds(score: Array, yes: Array) -> tuple[Array, Array]:
    """(how many are said to be yes, how many of them are) at each threshold, the highest first;
    equal scores are one. score [n], yes bool [n] -> both int [k]"""
    order = np.argsort(-score, kind="stable")
    last = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))  # of each run of equals
    return last + 1, np.cumsum(yes[order])[last]


def roc_points(said: Array, hits: Array) -> tuple[Array, Array]:
    """(the share of the no that is said to be yes, the share of the yes that is found) at each."""
    return (said - hits) / (said[-1] - hits[-1]), hits / hits[-1]


def area(false: Array, found: Array) -> float:
    """Under the curve of `roc_points`, of 1."""
    steps = np.diff(found, prepend=0.0)
    return float(np.sum(np.diff(false, prepend=0.0) * (found - steps / 2)))


def precision_recall_points(said: Array, hits: Array) -> tuple[Array, Array]:
    """(the share of the yes that is found, the share of what is said to be yes that is) at each."""
    return hits / hits[-1], hits / said


def average_precision(said: Array, hits: Array) -> float:
    """The precision at each yes, on average: the area below the curve as steps; of 1."""
    found, precision = precision_recall_points(said, hits)
    return float(np.sum(np.diff(found, prepend=0.0) * precision))
