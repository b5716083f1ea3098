"""Which nodes of each graph stay: those with the best scores.

In a batch of fixed shape (`Segments.real` is there) the last graph is made up, and how many rows
are left must follow from shapes alone. So the made-up graph keeps whatever the others leave of a
number that always suffices, and its last node stands in for those it has too few of.
"""

import torch
from torch import Tensor

from gmpool.ops.row_ids import inverse, stable_order
from gmpool.ops.segment import Segments


def kept_per_graph(counts: Tensor, ratio: float) -> Tensor:
    """ceil(ratio · n) of each graph; of a graph with nodes at least one. [B]"""
    # The product may lie a rounding error above a whole number.
    share = (counts.double() * ratio - 1e-9).ceil().to(counts.dtype)
    return torch.minimum(share.clamp(min=1), counts)


def rows_of_fixed_batch(num_nodes: int, num_graphs: int, ratio: float) -> int:
    """How many rows a batch of fixed shape has when ceil(ratio · n) nodes of each graph stay.

    num_nodes and num_graphs count what is made up, at least one node and one graph. Rounding up
    adds less than one row for each of the others, and one row is left for the graph that is made
    up.
    """
    return min(num_nodes, int(ratio * (num_nodes - 1)) + num_graphs)


def ranking(score: Tensor, segments: Segments, tie: Tensor | None = None) -> Tensor:
    """The nodes graph by graph, in each the best score first. [N]

    Equal scores are sorted by `tie`, the larger first, and then by number.
    """
    if tie is None:
        by_score = torch.argsort(score.detach(), descending=True, stable=True)
    else:
        by_tie = torch.argsort(tie, descending=True, stable=True)
        again = score.detach().index_select(0, by_tie)
        by_score = by_tie.index_select(0, torch.argsort(again, descending=True, stable=True))
    by_graph = stable_order(segments.batch.index_select(0, by_score), segments.num_graphs)
    return by_score.index_select(0, by_graph)


def best_of_each(score: Tensor, segments: Segments, ratio: float) -> tuple[Tensor, Segments]:
    """The ceil(ratio · n) nodes of each graph with the best scores, ascending, and their graphs."""
    many, rows = kept_per_graph(segments.counts, ratio), None
    if segments.real is not None:
        rows = rows_of_fixed_batch(score.shape[0], segments.num_graphs, ratio)
        many = torch.cat([many[:-1], rows - many[:-1].sum(0, keepdim=True)])
    rank = inverse(ranking(score, segments)) - segments.ptr.index_select(0, segments.batch)
    kept = places(rank < many.index_select(0, segments.batch), rows)
    return kept, _segments_of(kept, many, segments)


def places(there: Tensor, count: int | None) -> Tensor:
    """Where `there` [n] holds, ascending; with a count so many, of which the last repeat n-1."""
    if count is None:
        return there.nonzero()[:, 0]
    n = there.shape[0]
    # What is not there is written to the spare place at the end.
    to = torch.where(there, true_before(there)[:-1], count)
    found = torch.full((count + 1,), n - 1, dtype=torch.long, device=there.device)
    return found.scatter(0, to, torch.arange(n, device=there.device))[:count]


def true_before(mask: Tensor) -> Tensor:
    """How many are true before each place. [n] -> [n+1]"""
    before = mask.cumsum(0)
    return torch.cat([before.new_zeros(1), before])


def _segments_of(kept: Tensor, counts: Tensor, segments: Segments) -> Segments:
    ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    if segments.real is None:
        new = renumbering(kept, segments.batch.shape[0]).index_select(0, segments.order)
        order = new.masked_select(new >= 0)
    else:
        order = torch.arange(kept.shape[0], device=kept.device)  # graph after graph, as it was
    return Segments(segments.batch.index_select(0, kept), order, ptr, segments.real)


def renumbering(kept: Tensor, num_nodes: int, left: Segments | None = None) -> Tensor:
    """The place of each node among the kept ones, -1 for the others. [N]

    left: the graphs of the kept ones, where one of them may be made up: its nodes count as others.
    """
    place = torch.arange(kept.shape[0], device=kept.device)
    node = kept.long()
    if left is not None and left.real is not None:
        node = torch.where(place < left.ptr[-2], node, num_nodes)
    none = torch.full((num_nodes + 1,), -1, dtype=place.dtype, device=kept.device)
    return none.scatter(0, node, place)[:num_nodes]
