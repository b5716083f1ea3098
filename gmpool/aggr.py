"""The Graph Multiset Transformer where PyG takes an `Aggregation`: of sets, without edges."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn.aggr import Aggregation

from gmpool.errors import UserError, WrongType
from gmpool.graph import Edges, Segments
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.row_ids import row_ids
from gmpool.ops.segment import INDEX_TYPES, Words
from gmpool.pool.gmt import GraphMultisetTransformer

__all__ = ["GMTAggregation"]
OF_SETS = Words("index", "dim_size", "set")


class GMTAggregation(KeepsOptions, Aggregation):
    """GMT of sets: x [N, in_dim], in any order by index [N] -> [dim_size, hidden_dim]

    For `MessagePassing(aggr=…)`, `MultiAggregation`, or as a readout. Nothing is padded, the index
    need not be sorted, and a set without elements has a vector too.

    in_dim: width of the elements.
    hidden_dim: width of the result; none: in_dim.
    num_seeds: K of the first pooling.
    num_heads: H, by which both widths can be divided.
    softmax: over "seeds" (each element is shared out; sees multiplicity) or over "nodes".
    blocks: names joined by "-" that end in a pooling: GMPool_I or SelfAtt.
    preset: "authors" or "paper"; sets what `options` leave out.
    options: layer_norm, scale, residual, out_projection, final_linear, dropout, ratio, as in
        GraphMultisetTransformer.

    PyG's own GraphMultisetTransformer puts a linear map and a ReLU before each pooling and a bias
    into W^O, divides scores by √(width/H), adds the seeds themselves, and knows the softmax over
    "nodes" alone. It pads, and wants a sorted index.
    """

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int | None = None,
        *,
        num_seeds: int,
        num_heads: int = 1,
        softmax: str = "seeds",
        blocks: str = "GMPool_I-SelfAtt-GMPool_I",
        preset: str = "authors",
        **options: Any,
    ) -> None:
        super().__init__()
        for name in {"conv", "later_adjacency", "mean_nodes"} & options.keys():
            raise UserError(f"an aggregation has no edges and no graphs, so {name} has no place")
        if "GMPool_G" in blocks:
            raise UserError(f"an aggregation has no edges: blocks takes GMPool_I, got {blocks!r}")
        self.readout = GraphMultisetTransformer.from_preset(
            preset,
            in_dim,
            in_dim if hidden_dim is None else hidden_dim,
            num_seeds=num_seeds,
            num_heads=num_heads,
            conv=None,
            softmax=softmax,
            blocks=blocks,
            **options,
        )

    def __call__(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Without PyG's, which counts the sets in a way that no compiler or export can follow, and
        checks what is checked here."""
        return nn.Module.__call__(self, x, *args, **kwargs)

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:
        """max_num_elements: what others pad to; nothing is padded here, and any number will do."""
        if not isinstance(x, Tensor) or x.dim() != 2 or dim not in (-2, 0):
            raise UserError(
                f"GMTAggregation takes x [N, D] and aggregates along its rows (dim=-2), got x of "
                f"shape {tuple(getattr(x, 'shape', ()))} and dim={dim}"
            )
        N = x.shape[0]
        if index is None and ptr is not None:
            sets = _from_ptr(ptr, N, x.device)
            if dim_size is not None and dim_size != sets.num_graphs:
                raise UserError(f"dim_size is {dim_size}, but ptr says {sets.num_graphs}")
        else:
            sets = Segments.from_batch(index, N, x.device, dim_size, OF_SETS)
        none = Edges(torch.empty(2, 0, dtype=torch.long, device=x.device), N, dtype=x.dtype)
        return self.readout(x, none, sets)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


def _from_ptr(ptr: Tensor, num_rows: int, device: torch.device) -> Segments:
    """Sets one after the other. ptr [B+1]"""
    if ptr.dim() != 1 or ptr.dtype not in INDEX_TYPES or ptr.device != device:
        raise WrongType(
            f"ptr must hold the offsets of sets as torch.int64 [B+1] on {device}, got {ptr.dtype} "
            f"{tuple(ptr.shape)} on {ptr.device}"
        )
    if ptr.is_cpu and (ptr[0] != 0 or ptr[-1] != num_rows or (ptr[1:] < ptr[:-1]).any()):
        raise UserError(f"ptr must ascend from 0 to the number of rows, {num_rows}")
    order = torch.arange(num_rows, device=device)
    return Segments(row_ids(ptr, num_rows), order, ptr.long())
