"""Which nodes are distinct, against trees of tuples; and what an encoder makes of them."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gmpool.graph import Edges, Segments
from gmpool.graph.distinct_nodes import DistinctNodes
from gmpool.graph.edges import DerivedEdges
from gmpool.ops.segment import segment_mean, segment_sum
from gmpool.ops.sparse import spmm
from gmpool.tasks.retrosynthesis.encoders import POOLINGS, Encoder, Graphs

KINDS = 3


class AtomByAtom(Graphs):
    def distinct(self, rounds: int) -> None:
        return None


@st.composite
def some_graphs(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """(kinds [N], edge_index in both directions, batch [N])"""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    kinds = draw(st.lists(st.integers(0, KINDS - 1), min_size=sum(sizes), max_size=sum(sizes)))
    pairs, first = list[tuple[int, int]](), 0
    for size in sizes:
        all_pairs = [(first + i, first + j) for j in range(size) for i in range(j)]
        if all_pairs:
            pairs += draw(st.lists(st.sampled_from(all_pairs), unique=True))
        first += size
    half = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return torch.tensor(kinds, dtype=torch.long), torch.cat([half, half.flip(0)], dim=1), batch


def trees(kinds: Tensor, edge_index: Tensor, rounds: int) -> list[list[Hashable]]:
    """What each node is after 0, 1, … rounds: its kind, and what it has heard so far."""
    heard = [edge_index[0, edge_index[1] == node].tolist() for node in range(len(kinds))]
    levels: list[list[Hashable]] = [kinds.tolist()]
    for _ in range(rounds):
        before = levels[-1]
        names = {name: place for place, name in enumerate(dict.fromkeys(before))}
        levels.append(
            [
                (kind, tuple(sorted(names[before[other]] for other in heard[node])))
                for node, kind in enumerate(kinds.tolist())
            ]
        )
    return levels


@given(given_graphs=some_graphs(), rounds=st.integers(0, 4))
def test_states_are_as_many_as_trees(
    given_graphs: tuple[Tensor, Tensor, Tensor], rounds: int
) -> None:
    kinds, edge_index, _ = given_graphs
    pattern = Edges(edge_index, len(kinds)).entries.pattern
    found = DistinctNodes.of(kinds, pattern, rounds)
    levels = trees(kinds, edge_index, rounds)
    sizes = [len(found.first), *(len(each.own) for each in found.rounds)]
    assert sizes == [len(set(level)) for level in levels]
    assert sorted(kinds[found.first].tolist()) == sorted(set(kinds.tolist()))
    of_state: dict[int, Hashable] = {}
    for state, tree in zip(found.nodes.col.tolist(), levels[-1], strict=True):
        assert of_state.setdefault(state, tree) == tree


@given(given_graphs=some_graphs())
def test_sums_and_means_are_those_of_nodes(given_graphs: tuple[Tensor, Tensor, Tensor]) -> None:
    kinds, edge_index, batch = given_graphs
    pattern = Edges(edge_index, len(kinds)).entries.pattern
    found = DistinctNodes.of(kinds, pattern, 2)
    segments = Segments.from_batch(batch, len(kinds))
    states = int(found.nodes.col.max()) + 1 if len(kinds) else 0
    rows = torch.randn(states, 4, dtype=torch.float64, requires_grad=True)
    for read in (segment_sum, segment_mean):
        mine = read(rows, found.summed(segments))
        theirs = read(spmm(found.nodes, rows), segments)
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)
        weight = torch.randn_like(mine)
        one, two = (torch.autograd.grad((each * weight).sum(), rows)[0] for each in (mine, theirs))
        torch.testing.assert_close(one, two, rtol=0, atol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
@given(given_graphs=some_graphs(), rounds=st.integers(1, 3))
def test_an_encoder_gives_the_same_as_atom_by_atom(
    pooling: str, given_graphs: tuple[Tensor, Tensor, Tensor], rounds: int
) -> None:
    kinds, edge_index, batch = given_graphs
    torch.manual_seed(0)
    encoder = Encoder(5, 6, 4, rounds=rounds, pooling=pooling).double()
    features = torch.randn(KINDS, 5, dtype=torch.float64)

    entries = Edges(edge_index, len(kinds), dtype=torch.float64).entries
    edges = DerivedEdges(entries, dtype=torch.float64)
    given_ = kinds, features, edges, Segments.from_batch(batch, len(kinds))

    def outcome(read: Graphs) -> tuple[Tensor, list[Tensor]]:
        vectors, losses = encoder(read)
        total = (vectors * vectors.cos()).sum() + sum(losses.values())
        weights = list(encoder.parameters())
        grads = torch.autograd.grad(total, weights, allow_unused=True, materialize_grads=True)
        return vectors, list(grads)

    for mine, theirs in zip(outcome(Graphs(*given_)), outcome(AtomByAtom(*given_)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-10)
