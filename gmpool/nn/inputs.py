"""What a layer is called with, checked where it comes in: rows, edges, and the graph of each row.

Shapes, types and devices are asked for everywhere; numbers are read on a CPU alone, or where they
are read anyway, so that nothing waits for a GPU.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.errors import UserError, WrongType
from gmpool.graph import AnyEdges, Columns, Edges, Segments
from gmpool.graph.reads import KINDS, reads_of
from gmpool.nn.conv import IdentityConv, is_linear
from gmpool.ops.without_dispatcher import only_values

WEIGHTED = frozenset({"plain", "gcn", "entries", "edge_weight", "batch"})
"""Forms of the edges that have their weights in them."""


def ragged(
    module: nn.Module,
    x: Tensor | Columns,
    edge_index: Tensor | AnyEdges,
    batch: Tensor | Segments | None,
    batch_size: int | None,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
    *,
    edges_count: bool = True,
) -> tuple[AnyEdges, Segments]:
    """The edges and the segments of a call of the module, from what a user passes.

    edges_count: without it Edges may be of other nodes, as for a pooling that reads none.
    """
    if not isinstance(batch, Segments) or isinstance(edge_index, Tensor | Edges):
        check_rows(module, x)  # else it was done by whoever made both
    refuse_unread(module, edge_weight, edge_attr)
    segments = Segments.from_batch(batch, x.shape[0], x.device, batch_size)
    edges = Edges.of(edge_index, x.shape[0], x.dtype, edge_weight, edge_attr)
    if edges_count and isinstance(edges, Edges):
        if edges.num_nodes != x.shape[0]:
            raise UserError(f"the edges are of {edges.num_nodes} nodes, but x has {x.shape[0]}")
        if edges.edge_index.device != x.device:
            raise UserError(
                f"edge_index is on {edges.edge_index.device}, but x on {x.device}: move one of them"
            )
    return edges, segments


def check_rows(module: nn.Module, x: Tensor | Columns) -> None:
    """Raises for rows that the module cannot take: by their width, type or device."""
    name, width = type(module).__name__, getattr(module, "in_dim", None)
    if width is None:
        width = getattr(module, "dim", None)
    if not isinstance(x, (Tensor, Columns)):
        raise WrongType(f"{name} takes x as a tensor [N, D], got {type(x).__name__}")
    if len(x.shape) != 2:
        raise UserError(f"{name} takes x of shape [N, {width}], got {tuple(x.shape)}")
    if not x.dtype.is_floating_point:
        raise WrongType(
            f"{name} takes x of floating-point numbers, got {x.dtype}: x.float() makes them of "
            f"counts and measures, torch.nn.Embedding of categories"
        )
    if width is not None and x.shape[1] != width:
        raise UserError(f"{name} was made for rows of width {width}, got x of width {x.shape[1]}")
    weight = _first_weight(module)
    if weight is None or not isinstance(x, Tensor) or not only_values(x):
        return
    if weight.device != x.device:
        raise UserError(f"{name} is on {weight.device}, but x on {x.device}: move one of them")
    if weight.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
        raise WrongType(
            f"{name} has weights of {weight.dtype}, but x is of {x.dtype}: convert one of them"
        )


def _first_weight(module: nn.Module) -> Tensor | None:
    """The first of `module.parameters()`, in a fifth of the time."""
    for weight in module._parameters.values():
        if weight is not None:
            return weight
    for part in module._modules.values():
        if part is not None and (found := _first_weight(part)) is not None:
            return found
    return None


def refuse_unread(
    module: nn.Module, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
) -> None:
    """Raises for an edge_weight or edge_attr that no part of the module reads."""
    if edge_weight is None and edge_attr is None:
        return
    name, reads = type(module).__name__, reads_of(module)
    if edge_weight is not None and not (reads & WEIGHTED or _propagates(module)):
        raise UserError(f"nothing in {name} reads edge_weight: leave it out")
    if edge_attr is not None and not reads & {"edge_attr", *KINDS}:
        raise UserError(
            f"nothing in {name} reads edge_attr: leave it out, give numbers per edge as "
            f"edge_weight, or use a convolution that reads it, by a factory such as "
            f"conv=lambda a, b: GINEConv(...)"
        )


def _propagates(module: nn.Module) -> bool:
    """Whether a convolution of somebody else's may read weights, though it says nothing."""
    parts = (part for part in module.modules() if not isinstance(part, IdentityConv))
    return any(is_linear(part) for part in parts)
