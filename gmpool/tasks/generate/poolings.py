"""The exchange: from the gated rows of a graph's places to its vector, by every pooling.

A pooling is called with (rows [B·n, D], edges, segments) and gives (vectors [B, out_dim], losses of
its own by name). Its keyword-only arguments, other than conv, are its options.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gmpool.errors import unknown
from gmpool.graph import Segments
from gmpool.graph.relation_edges import RelationEdges
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.tasks.graph_task import keyword_options
from gmpool.tasks.readouts import MeanOfClusters, OneSeed, ReadBySet2Set, Transformer, Vectors


class Symmetric(KeepsOptions):
    """A sum, mean or maximum over places. They have the same shapes, so that runs with each of them
    can be one stack: which one counts is a number.

    dim: D.
    """

    weights: Tensor

    def __init__(self, dim: int, *, conv: Any, kind: str) -> None:
        super().__init__()
        self.out_dim = dim
        chosen = [float(kind == name) for name in ("mean", "sum", "max")]
        self.register_buffer("weights", torch.tensor(chosen), persistent=False)

    def forward(self, rows: Tensor, edges: RelationEdges, segments: Segments) -> Vectors:
        by_place = rows.unflatten(0, (segments.num_graphs, -1))  # [B, n, D]
        total = by_place.sum(1)
        mean, summed, top = self.weights.to(rows.dtype).unbind()
        out = mean * total / by_place.shape[1] + summed * torch.tanh(total)
        return out + top * by_place.amax(1), {}


class Mean(Symmetric):
    """Mean of the places."""

    def __init__(self, dim: int, *, conv: Any) -> None:
        super().__init__(dim, conv=conv, kind="mean")


class WideMean(Mean):
    """Mean of rows so wide that the critic has as many parameters as with GMPool_1."""


class Sum(Symmetric):
    """Tanh of the sum over places, as published."""

    def __init__(self, dim: int, *, conv: Any) -> None:
        super().__init__(dim, conv=conv, kind="sum")


class Max(Symmetric):
    """Maximum over places; those that share it share its gradient."""

    def __init__(self, dim: int, *, conv: Any) -> None:
        super().__init__(dim, conv=conv, kind="max")


POOLINGS: Mapping[str, Any] = {
    "mean": Mean,
    "mean-wide": WideMean,
    "sum": Sum,
    "max": Max,
    "set2set": ReadBySet2Set,
    "mincut": MeanOfClusters,
    "gmpool": OneSeed,
    "gmt": Transformer,
}
"""By the name that --method has."""


def pooling_of(method: str) -> Any:
    if method not in POOLINGS:
        raise unknown("method", method, POOLINGS)
    return POOLINGS[method]


def pooling_options(method: str) -> dict[str, inspect.Parameter]:
    return keyword_options(pooling_of(method), without=("conv", "kind"))


def parameters_of(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())
