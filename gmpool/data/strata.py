"""Labels as strata: what a stratified split spreads evenly over its parts."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gmpool.data.packed_fields import Task

MOST_BINS = 10
"""Quantiles of numbers."""


def strata_of(y: Tensor, task: Task, least_share: float) -> NDArray[np.int64]:
    """int64 [G, L], 1 where a graph has a label: a class; yes or no in a column; a quantile of the
    numbers of a column, of which there are so many that the smallest part gets a graph of each.

    y, task: as PackedGraphs has them; a gap is no label. least_share: of the smallest part.
    """
    values = y.cpu().numpy().reshape(len(y), -1)  # [G, T]
    if task == "multiclass":
        return (values == np.unique(values)).astype(np.int64)
    if task == "binary":
        return np.concatenate([values == 1, values == 0], axis=1).astype(np.int64)
    columns = [_quantiles(column.astype(np.float64), least_share) for column in values.T]
    return np.concatenate(columns, axis=1)


def _quantiles(column: NDArray[np.float64], least_share: float) -> NDArray[np.int64]:
    """int64 [G, L]; equal numbers are in one quantile."""
    there = ~np.isnan(column)
    bins = min(MOST_BINS, max(1, int(there.sum() * least_share)))
    edges = np.quantile(column[there], np.arange(1, bins) / bins) if there.any() else ()
    number = np.searchsorted(np.asarray(edges), column, side="right")  # of NaN: the last
    return ((number[:, None] == np.arange(bins)) & there[:, None]).astype(np.int64)
