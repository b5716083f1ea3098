"""collect, spread and match of small graphs: sums of embedding_bag, whose bags are the slots
(head, graph, k) or the nodes, and which bag holds which rows.

The operators of a step ask for the same few layouts again and again: on a CPU, where they cost as
much as the sums, they are made once for a batch.
"""

import torch
from torch import Tensor

from gmpool.ops.replicas import once, union_ptr
from gmpool.ops.segment import Segments
from gmpool.ops.sparse.pytorch import add_products

# Numbers in Z up to which all of it is read again for each slot, which needs no layout to speak of.
# Beyond, it no longer stays in a processor's cache, and graph by graph is faster.
STAYS_IN_CACHE = 2**20


def collect(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [N, D_l] -> [H, B, K, D_l] each"""
    by_slot = a.is_cpu and sum(z.numel() for z in blocks) <= STAYS_IN_CACHE
    collect = _collect_by_slot if by_slot else _collect_by_graph
    return collect(a, blocks, segments.order, segments.ptr)


def spread(a: Tensor, blocks: list[Tensor], segments: Segments) -> list[Tensor]:
    """a [N, H, K], blocks [H, B, K, D_l] -> [N, D_l] each"""
    (_, H, K), B, batch = a.shape, segments.num_graphs, segments.batch
    rows, offsets, weight = slot_rows(batch, H, B, K), slot_offsets(batch, H * K), a.flatten()
    return [bag_sum(o.reshape(H * B * K, -1), rows, offsets, weight.to(o.dtype)) for o in blocks]


def match(zs: list[Tensor], os: list[Tensor], segments: Segments) -> Tensor:
    """zs [N, D_l], os [H, B, K, D_l] -> [N, H, K], summed over the blocks"""
    N, (H, B, K, _), batch = zs[0].shape[0], os[0].shape, segments.batch
    rows, offsets = slot_rows(batch, H, B, K), slot_offsets(batch, H * K)
    scores = zs[0].new_zeros(N * H * K)
    for z, o in zip(zs, os, strict=True):
        scores = add_products(scores, offsets, rows, z, o.reshape(H * B * K, -1))
    return scores.view(N, H, K)


def bag_sum(table: Tensor, rows: Tensor, offsets: Tensor, weight: Tensor) -> Tensor:
    """Σ over each bag of weight · table row. (scale_grad, mode=sum, sparse, include_last follow)"""
    return torch.embedding_bag(table, rows, offsets, False, 0, False, weight, True)[0]


def is_sorted(order: Tensor) -> bool:
    """Whether the nodes lie graph after graph."""
    return bool(once(order, ("sorted",), lambda: (order[1:] >= order[:-1]).all()))


def slot_rows(batch: Tensor, H: int, B: int, K: int) -> Tensor:
    """For each node the H·K rows of its graph in [H·B·K, D]. [N·H·K]"""

    def make() -> Tensor:
        h = torch.arange(H, device=batch.device)[:, None] * (B * K)
        k = torch.arange(K, device=batch.device)
        return ((batch * K)[:, None] + (h + k).flatten()).flatten()

    return once(batch, ("slots", H, B, K), make) if batch.is_cpu else make()


def slot_offsets(batch: Tensor, slots: int) -> Tensor:
    """Where the slots of each node begin. [N+1]"""

    def make() -> Tensor:
        return slots * torch.arange(batch.shape[0] + 1, device=batch.device)

    return once(batch, ("offsets", slots), make) if batch.is_cpu else make()


def _collect_by_slot(a: Tensor, blocks: list[Tensor], order: Tensor, ptr: Tensor) -> list[Tensor]:
    """Bag (h, k, b) holds the nodes of graph b: for each slot all nodes once more, in order."""
    (N, H, K), B = a.shape, ptr.shape[0] - 1
    rows = a.permute(1, 2, 0).flatten(0, 1)  # [H·K, N]; no copy where a softmax over seeds made it
    weight = (rows if is_sorted(order) else rows.index_select(1, order)).flatten()
    nodes = once(order, ("repeated", H * K), lambda: order.repeat(H * K))
    offsets = union_ptr(ptr, None, H * K, N)
    sums = [bag_sum(z.contiguous(), nodes, offsets, weight.to(z.dtype)) for z in blocks]
    return [o.view(H, K, B, -1).transpose(1, 2).contiguous() for o in sums]


def _collect_by_graph(a: Tensor, blocks: list[Tensor], order: Tensor, ptr: Tensor) -> list[Tensor]:
    """Bag (h, b, k) holds the nodes of graph b; the layout of one head serves all of them."""
    (N, H, K), B = a.shape, ptr.shape[0] - 1
    per_bag = (ptr[1:] - ptr[:-1]).repeat_interleave(K)  # [B·K]
    ends = per_bag.cumsum(0)
    first = ptr[:-1].repeat_interleave(K) - (ends - per_bag)
    place = torch.arange(N * K, device=ptr.device)
    node = order.index_select(0, place + first.repeat_interleave(per_bag, output_size=N * K))
    k = torch.arange(K, device=ptr.device).repeat(B).repeat_interleave(per_bag, output_size=N * K)
    entry = node * (H * K) + k  # of head 0 in a, flattened; head h is K further on
    if H > 1:
        heads = torch.arange(H, device=ptr.device)[:, None]
        node, entry = node.repeat(H), (entry + heads * K).flatten()
        ends = (ends + heads * (N * K)).flatten()
    offsets = torch.cat([ends.new_zeros(1), ends])
    weight = a.flatten().index_select(0, entry)
    return [
        bag_sum(z.contiguous(), node, offsets, weight.to(z.dtype)).view(H, B, K, -1) for z in blocks
    ]
