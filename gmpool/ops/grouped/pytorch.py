"""collect, spread and match by PyTorch's operators: see operator.py for what they mean.

Large graphs are one matrix product each, which reads Z once; small graphs go through embedding_bag
(embedding_bags.py). Which is cheaper is decided by counting operations.
"""

import torch
from torch import Tensor

import gmpool.ops.grouped.embedding_bags as embedding_bags
from gmpool.ops.grouped.embedding_bags import is_sorted
from gmpool.ops.segment import Segments

# Multiply-adds per graph above which one matrix product per graph beats embedding_bag, measured on
# two CPU cores: a product has a fixed cost of some 10 µs and then runs 3 × faster.
LARGE_GRAPH = 800_000


def _are_large(segments: Segments, multiply_adds: int) -> bool:
    return multiply_adds > LARGE_GRAPH * max(segments.num_graphs, 1)


def collect(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [N, D_l] -> [H, B, K, D_l] each"""
    if not _are_large(segments, a.numel() * sum(z.shape[1] for z in blocks)):
        return embedding_bags.collect(a, blocks, segments)
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
    if not _are_large(segments, a.numel() * sum(o.shape[3] for o in blocks)):
        return embedding_bags.spread(a, blocks, segments)
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
    if not _are_large(segments, H * K * sum(z.numel() for z in zs)):
        return embedding_bags.match(zs, os, segments)
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
