"""Greedy edge contraction, for all graphs at once: a matching by rounds of locally dominant edges.

One after the other: take the edges by descending score, and contract each whose two ends are both
free still. In rounds: every free node picks its best edge among those whose other end is free too;
an edge picked by both ends is contracted, its ends leave, and the next round begins. An edge that
is the best at both ends comes before all its neighbours in the order of scores, so that both ways
give the same matching (Preis, 1999). Equal scores go by a second score, then by position in the
list, as a stable sort has them: the order must be strict for both ways to agree.

Every node has its edges in a list, best first, and a place in it that only moves on, so a round
costs as much as there are nodes, whatever the number of edges. There may be many rounds: in a
clique where all nodes like the same neighbour best, one pair leaves at a time.
"""

import torch
from torch import Tensor


def contract(
    source: Tensor,
    target: Tensor,
    score: Tensor,
    num_nodes: int,
    *,
    then: Tensor | None = None,
    reverse: Tensor | None = None,
) -> Tensor:
    """The edges to contract, ascending. source, target, score, then [E] -> [P]; without gradient.

    Both ends of an edge count alike, so that the two directions of an undirected edge compete.
    Where every edge has an opposite one, reverse [E] may say which it is: that halves the work.
    A loop is never contracted.
    """
    edge = _by_score(source, target, _ordered(score, then), reverse)
    rank, other, start, end = _lists(source, target, edge, num_nodes)
    node = (start < end).nonzero()[:, 0]  # those that may find a mate still
    place, stop = start.index_select(0, node), end.index_select(0, node)
    best = torch.full_like(start, -1)
    free = torch.ones_like(start, dtype=torch.bool)
    chosen = [edge[:0]]
    while node.numel():
        wanted, mate = rank.index_select(0, place), other.index_select(0, place)
        best.index_copy_(0, node, wanted)
        mutual = best.index_select(0, mate) == wanted
        chosen.append(edge.index_select(0, wanted.masked_select(mutual & (node < mate))))
        free.index_fill_(0, node.masked_select(mutual), False)
        left = (~mutual).nonzero()[:, 0]
        node, place, stop = (t.index_select(0, left) for t in (node, place, stop))
        _move_on(place, stop, other, free)
        left = (place < stop).nonzero()[:, 0]
        node, place, stop = (t.index_select(0, left) for t in (node, place, stop))
    return torch.cat(chosen).sort().values


def contract_reference(
    source: Tensor, target: Tensor, score: Tensor, num_nodes: int, *, then: Tensor | None = None
) -> Tensor:
    """What contract means: a loop over the edges by descending score."""
    ends = list(zip(source.tolist(), target.tolist(), strict=True))
    scores = zip(score.tolist(), (score if then is None else then).tolist(), strict=True)
    order = sorted(range(len(ends)), key=dict(enumerate(scores)).__getitem__, reverse=True)
    free, chosen = set(range(num_nodes)), []
    for e in order:  # sorted() is stable, in reverse too
        i, j = ends[e]
        if i != j and i in free and j in free:
            free -= {i, j}
            chosen.append(e)
    return torch.tensor(sorted(chosen), dtype=torch.long, device=score.device)


def _by_score(source: Tensor, target: Tensor, key: Tensor, reverse: Tensor | None) -> Tensor:
    """The edges that may be contracted, best first. [C]"""
    may = source != target
    if reverse is not None:
        opposite, place = key.index_select(0, reverse), torch.arange(len(key), device=key.device)
        may &= (key > opposite) | ((key == opposite) & (place < reverse))
    edge = may.nonzero()[:, 0]
    order = torch.sort(~key.index_select(0, edge), stable=True).indices
    return edge.index_select(0, order)


def _lists(source: Tensor, target: Tensor, edge: Tensor, num_nodes: int) -> tuple[Tensor, ...]:
    """(rank, other end, start, end): places start[i] … end[i]-1 of the first two [2C] are node
    i's edges, best first."""
    ends = torch.stack([t.index_select(0, edge).int() for t in (source, target)], dim=1).flatten()
    by_node = torch.sort(ends, stable=True).indices
    other = ends.index_select(0, by_node ^ 1).long()
    count = torch.bincount(ends, minlength=num_nodes)
    end = count.cumsum(0)
    return by_node >> 1, other, end - count, end


def _move_on(place: Tensor, stop: Tensor, other: Tensor, free: Tensor) -> None:
    """Past the edges whose other end is taken; at most to stop."""
    stuck = (~free.index_select(0, other.index_select(0, place))).nonzero()[:, 0]
    while stuck.numel():
        following = place.index_select(0, stuck) + 1
        place.index_copy_(0, stuck, following)
        inside = (following < stop.index_select(0, stuck)).nonzero()[:, 0]
        stuck, following = stuck.index_select(0, inside), following.index_select(0, inside)
        taken = ~free.index_select(0, other.index_select(0, following))
        stuck = stuck.masked_select(taken)


def _ordered(score: Tensor, then: Tensor | None) -> Tensor:
    """Integers in the order of (score, then); a NaN has its place as well, so that rounds end."""
    high = _integers(score)
    return high if then is None else (high << 32) + _integers(then)


def _integers(score: Tensor) -> Tensor:
    """int32 in the order of the scores, as int64. [E]"""
    score = score.detach()
    if score.dtype == torch.float64:
        return torch.unique(score, return_inverse=True)[1]
    # Bits of floats are ordered like integers; those of negative ones backwards. Adding 0.0 makes
    # a zero of -0.0.
    bits = (score.float() + 0.0).view(torch.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).long()
