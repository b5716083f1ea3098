"""An epoch for several processes, each of which has a part of every batch: nearly as many nodes as
the others, whatever the graphs are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.data.batch import GraphBatch, Ids
from gmpool.data.epoch_batches import batches_of, in_order
from gmpool.data.packed import PackedGraphs


class SharedBatch(NamedTuple):
    """A part of a batch: some of its graphs that follow each other."""

    whole: GraphBatch
    """Of which nothing is computed but what is asked for."""
    part: GraphBatch
    graphs_before: int
    """How many graphs of the batch lie in the parts before this one."""
    nodes_before: int
    has_empty: bool
    """Whether any part of the batch has no graph."""


def owners(sizes: Tensor, batch_size: int, parts: int) -> Tensor:
    """The part that has each of these graphs, of batches that follow each other: that in which the
    middle of its nodes lies. sizes: nodes of each [n] -> [n], ascending in each batch"""
    n = sizes.numel()
    weight = sizes.double() + 1e-9  # graphs without nodes count as little as can be, but count
    first = torch.arange(n) // batch_size * batch_size  # of the same batch
    ends = torch.cat([weight.new_zeros(1), weight.cumsum(0)])
    last = (first + batch_size).clamp(max=n)
    begin, total = ends[first], ends[last] - ends[first]
    middle = ends[:-1] - begin + weight / 2
    return (middle / total * parts).long().clamp(0, parts - 1)


def shared_batches(
    graphs: PackedGraphs,
    ids: Ids,
    batch_size: int,
    generator: torch.Generator | None = None,
    *,
    part: int,
    parts: int,
) -> Iterator[SharedBatch]:
    """The batches of `epoch_batches`, of each of them one part. All who have a part give a
    generator of one state."""
    order = in_order(ids, generator)
    sizes = nodes_in(graphs, order)  # [n]
    owner = owners(sizes, batch_size, parts)
    batch = torch.arange(order.numel()) // batch_size
    steps = -(-order.numel() // batch_size)
    graphs_of = torch.zeros(steps, parts, dtype=torch.int64)
    nodes_of = torch.zeros(steps, parts, dtype=torch.int64)
    graphs_of.index_put_((batch, owner), torch.ones_like(owner), accumulate=True)
    nodes_of.index_put_((batch, owner), sizes.long(), accumulate=True)
    counts = graphs_of[:, part].tolist()
    mine = batches_of(graphs, order[owner == part], counts)
    wholes = order.to(graphs.device).split(batch_size)
    before = zip(graphs_of[:, :part].sum(1).tolist(), nodes_of[:, :part].sum(1).tolist(),
                 (graphs_of == 0).any(1).tolist(), strict=True)  # fmt: skip
    for whole, own, facts in zip(wholes, mine, before, strict=True):
        yield SharedBatch(GraphBatch(graphs, whole), own, *facts)


def own_part(graphs: PackedGraphs, ids: Tensor, *, part: int, parts: int) -> Tensor:
    """Of graphs that are shared out once, those of a part: the parts put together in their order
    are all of them."""
    ids = torch.as_tensor(ids, dtype=torch.int64)
    owner = owners(nodes_in(graphs, ids), max(ids.numel(), 1), parts)
    return ids[(owner == part).to(ids.device)]


def nodes_in(graphs: PackedGraphs, ids: Tensor) -> Tensor:
    """How many nodes each of the graphs has; on the host. [n]"""
    ptr, where = graphs.node_ptr, ids.to(graphs.node_ptr.device)
    return (ptr.index_select(0, where + 1) - ptr.index_select(0, where)).cpu()
