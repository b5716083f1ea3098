"""collect, spread and match for large graphs: a matrix product for each graph."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.ops.grouped.embedding_bags import is_sorted
from gmpool.ops.segment import Segments


def collect(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [N, D_l] -> [H, B, K, D_l] each"""
    H, K = a.shape[1:]
    parts = _by_graph(a.flatten(1), segments)
    outs = []
    for z in blocks:
        out = z.new_empty(len(parts), H * K, z.shape[1])
        for a_b, z_b, out_b in zip(parts, _by_graph(z, segments), out, strict=True):
            torch.mm(a_b.t(), z_b, out=out_b)
        outs.append(out.unflatten(1, (H, K)).transpose(0, 1).contiguous())
    return outs


def spread(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [H, B, K, D_l] -> [N, D_l] each"""
    parts, sizes = _by_graph(a.flatten(1), segments), segments.counts.tolist()
    outs = []
    for o in blocks:
        out = o.new_empty(a.shape[0], o.shape[3])
        slots = o.transpose(0, 1).flatten(1, 2)  # [B, H·K, D]
        for a_b, o_b, out_b in zip(parts, slots, out.split(sizes), strict=True):
            torch.mm(a_b, o_b, out=out_b)
        outs.append(_as_before(out, segments.order))
    return outs


def match(zs: list[Tensor], os: list[Tensor], segments: Segments) -> Tensor:
    """zs [N, D_l], os [H, B, K, D_l] -> [N, H, K], summed over the blocks"""
    N, (H, _, K, _) = zs[0].shape[0], os[0].shape
    out = zs[0].new_zeros(N, H * K)
    pieces = out.split(segments.counts.tolist())
    for z, o in zip(zs, os, strict=True):
        slots = o.transpose(0, 1).flatten(1, 2)  # [B, H·K, D]
        for z_b, o_b, out_b in zip(_by_graph(z, segments), slots, pieces, strict=True):
            out_b.addmm_(z_b, o_b.t())
    return _as_before(out, segments.order).view(N, H, K)


def _by_graph(rows: Tensor, segments: Segments) -> tuple[Tensor, ...]:
    """Each graph's rows, as views where the nodes are sorted already."""
    if not is_sorted(segments.order):
        rows = rows.index_select(0, segments.order)
    return rows.split(segments.counts.tolist())


def _as_before(rows: Tensor, order: Tensor) -> Tensor:
    """Undo the sort of _by_graph."""
    return rows if is_sorted(order) else torch.empty_like(rows).index_copy_(0, order, rows)
