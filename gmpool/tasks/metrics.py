"""Losses and metrics that leave missing labels out."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor
from torch.nn import functional as F

HIGHER_IS_BETTER = {"accuracy": True, "roc_auc": True, "rmse": False}


def loss_of(task: str, out: Tensor, y: Tensor) -> Tensor:
    """Mean loss over the labels that are there. out [B, C] or [B, T]; y [B] or [B, T] with NaN."""
    if task == "multiclass":
        return F.cross_entropy(out, y)
    present = ~y.isnan()
    target = torch.where(present, y, 0.0)
    if task == "binary":
        each = F.binary_cross_entropy_with_logits(out, target, reduction="none")
    else:
        each = (out - target).square()
    return (each * present).sum() / present.sum().clamp(min=1)


def metric_of(name: str, out: Tensor, y: Tensor) -> float:
    """Accuracy and ROC-AUC in percent, RMSE in the label's unit. NaN where it is not defined."""
    if name == "accuracy":
        if y.dim() == 1:
            return 100 * float((out.argmax(1) == y).double().mean())
        present = ~y.isnan()
        right = ((out > 0) == (y > 0.5)) & present
        return 100 * float(right.sum() / present.sum()) if bool(present.any()) else math.nan
    scores, labels = out.double().cpu().numpy(), y.double().cpu().numpy()
    if name == "roc_auc":
        return roc_auc(scores, labels)
    errors = (scores - labels)[~np.isnan(labels)]
    return float(np.sqrt(np.mean(errors**2))) if errors.size else math.nan


def roc_auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """ROC-AUC in percent, averaged over the tasks (columns) that have both classes; NaN if none.

    By ranks (Mann-Whitney): missing labels get a score above all others, so that they do not
    shift the ranks of the rest.
    """
    present = ~np.isnan(labels)
    ranks = rankdata(np.where(present, scores, np.inf), axis=0)
    positive = present & (labels > 0.5)
    p = positive.sum(0)
    n = present.sum(0) - p
    both = (p > 0) & (n > 0)
    if not both.any():
        return math.nan
    wins = (ranks * positive).sum(0) - p * (p + 1) / 2
    return 100 * float((wins[both] / (p * n)[both]).mean())
