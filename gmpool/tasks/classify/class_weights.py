"""Classes that are rare count for more, so that all classes of a label count for as much."""

import torch
from torch import Tensor


def balanced_weights(y: Tensor, shape: torch.Size) -> Tensor:
    """n / (classes · n_c) of each class c, of the labels that are there; 1 for a class without any.

    y [n] of classes -> [C]; y [n, T] of yes and no, NaN missing -> [2, T]: of no, and of yes.
    """
    if y.dim() == 1:
        counts = torch.bincount(y[y >= 0], minlength=shape[0]).double()  # [C]
    else:
        counts = torch.stack([(y == 0).sum(0), (y == 1).sum(0)]).double()  # [2, T]
    there = (counts > 0).sum(0).clamp(min=1)
    weights = counts.sum(0) / (there * counts)
    return torch.where(counts > 0, weights, 1.0).float()


def weight_of(y: Tensor, weights: Tensor) -> Tensor:
    """The weight of each label, 0 or more; of one that is missing any. Like y."""
    if y.dim() == 1:
        return weights.index_select(0, y.clamp(min=0))
    return torch.where(y > 0.5, weights[1], weights[0])
