"""Losses and metrics that leave missing labels out."""

import torch
from torch import Tensor
from torch.nn import functional as F


def loss_of(task: str, out: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    """Mean loss over the labels that are there; 0 where there is none. NaN where an output is, so
    that a training that diverges is seen. out [B, C] or [B, T]; y [B], of which a set has all, or
    [B, T] with NaN. weight, like y: how much each label counts."""
    if task == "multiclass":
        if weight is None:
            return F.cross_entropy(out, y)
        each = F.cross_entropy(out, y, reduction="none")  # 0 where a class is negative
        return (each * weight).sum() / _positive((weight * (y >= 0)).sum())
    present = ~y.isnan()
    target = torch.where(present, y, 0.0)
    if task == "binary":
        each = F.binary_cross_entropy_with_logits(out, target, reduction="none")
    else:
        each = (out - target).square()
    if weight is None:
        return (each * present).sum() / present.sum().clamp(min=1)
    counts = torch.where(present, weight, 0.0)
    return (each * counts).sum() / _positive(counts.sum())


def _positive(total: Tensor) -> Tensor:
    """Where nothing counts the loss is 0."""
    return torch.where(total > 0, total, 1.0)


def metric_of(name: str, out: Tensor, y: Tensor) -> float:
    """Accuracy and ROC-AUC in percent, RMSE in the label's unit, error_x its square; error_a is the
    mean of errors that are given as they are; nrmse the mean over columns of their RMSE, of
    outputs and labels in deviations of the column. NaN where it is not defined."""
    return float(metrics_of(name, out[None], y[None]))


def metrics_of(name: str, out: Tensor, y: Tensor) -> Tensor:
    """The same for R replicas. out [R, n, C] or [R, n, T]; y [R, n] (negative: missing) or
    [R, n, T] (NaN: missing) -> float64 [R]. Outputs that are no numbers, or so large that their
    error is none, have no score."""
    broken = out.isnan().any(2) & (y >= 0) if y.dim() == 2 else out.isnan() & ~y.isnan()
    score = _metrics_of(name, out, y)
    return score.masked_fill(broken.flatten(1).any(1) | score.isinf(), torch.nan)


def _metrics_of(name: str, out: Tensor, y: Tensor) -> Tensor:
    if y.dim() == 2:
        present = y >= 0
        right = (out.argmax(2) == y) & present
        return 100 * right.sum(1).double() / present.sum(1)
    present = ~y.isnan()
    if name == "accuracy":
        right = ((out > 0) == (y > 0.5)) & present
        return 100 * right.sum((1, 2)).double() / present.sum((1, 2))
    if name == "roc_auc":
        return roc_auc(out.double(), y)
    count = present.sum((1, 2))
    if name == "error_a":
        return torch.where(present, out, 0.0).double().sum((1, 2)) / count
    error = torch.where(present, out - y, 0.0).double()
    if name == "nrmse":
        each = (error.square().sum(1) / present.sum(1)).sqrt()  # [R, T]
        return each.nanmean(1)
    squared = error.square().sum((1, 2)) / count
    return squared if name == "error_x" else squared.sqrt()


def roc_auc(scores: Tensor, labels: Tensor) -> Tensor:
    """ROC-AUC in percent, averaged over the tasks that have both classes; NaN if none has.

    scores, labels [R, n, T] -> [R]. By ranks (Mann-Whitney): missing labels get a score above all
    others, so that they do not shift the ranks of the rest.
    """
    present = ~labels.isnan()
    s = torch.where(present, scores, torch.inf).transpose(1, 2).contiguous()  # [R, T, n]
    ordered = s.sort(dim=2).values
    # Equal scores share the mean of their ranks.
    rank = torch.searchsorted(ordered, s) + torch.searchsorted(ordered, s, right=True)
    ranks = (rank + 1).double().transpose(1, 2) / 2
    positive = present & (labels > 0.5)
    p = positive.sum(1).double()  # [R, T]
    n = present.sum(1) - p
    both = (p > 0) & (n > 0)
    wins = (ranks * positive).sum(1) - p * (p + 1) / 2
    area = torch.where(both, wins / (p * n).clamp(min=1), 0.0)
    return 100 * area.sum(1) / both.sum(1)
