from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from networkx.generators.atlas import graph_atlas_g
from torch_geometric.data import Data

from gmpool.data import from_networkx, from_pyg
from gmpool.graph.colours import colour_counts, mix, refinements, sums_between


def by_definition(graphs: list[nx.Graph], colour: dict[int, object], rounds: int) -> list[int]:
    """Refinement with dictionaries and sorted lists, on the union of the graphs."""
    union = nx.disjoint_union_all(graphs)
    for _ in range(rounds):
        signs = {v: (colour[v], tuple(sorted(colour[u] for u in union[v]))) for v in union}
        names = {sign: i for i, sign in enumerate(dict.fromkeys(signs.values()))}
        colour = {v: names[signs[v]] for v in union}
    return [colour[v] for v in range(len(union))]


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    pairs = len(set(zip(a.tolist(), b.tolist(), strict=True)))
    return pairs == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 6])
def test_colours_are_those_of_the_definition(rounds: int) -> None:
    atlas = graph_atlas_g()[1:400]
    packed = from_networkx(atlas, without_features="constant")
    wanted = by_definition(atlas, dict.fromkeys(range(packed.num_nodes), 0), rounds)
    assert same_partition(refinements(packed, rounds)[rounds], np.array(wanted))


def triangle(x: torch.Tensor, bonds: list[int]) -> Data:
    edges = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    attr = torch.tensor([[b] for b in bonds for _ in range(2)])
    return Data(x=x, edge_index=edges, edge_attr=attr)


def test_first_colours_are_rows_of_features() -> None:
    rows = torch.tensor([[0.5, 1.0], [0.5, 1.0], [0.5, 2.0], [1.0, 0.5], [-0.0, 1.0], [0.0, 1.0]])
    packed = from_pyg([triangle(rows[:3], [0, 0, 0]), triangle(rows[3:], [0, 0, 0])])
    first = refinements(packed, 0)[0].tolist()
    assert first[0] == first[1]
    assert first[4] == first[5], "0.0 and -0.0 are equal"
    assert len(set(first)) == 4


def test_categories_of_edges_are_seen() -> None:
    same = torch.zeros(3, 1, dtype=torch.long)
    packed = from_pyg([triangle(same, [0, 0, 0]), triangle(same, [0, 0, 1])])
    assert len(set(refinements(packed, 0)[0].tolist())) == 1
    assert len(set(refinements(packed, 1)[1].tolist())) == 2


def test_counts_add_up_to_the_sizes() -> None:
    graphs = graph_atlas_g()[:60]  # the first has no node
    packed = from_networkx(graphs, without_features="constant")
    for counts in colour_counts(packed, 3):
        np.testing.assert_array_equal(np.asarray(counts.sum(1)).ravel(), [len(g) for g in graphs])


def test_sums_wrap_around_and_empty_ranges_are_zero() -> None:
    values = np.full(4, 2**63, dtype=np.uint64)
    assert sums_between(values, np.array([0, 2, 2, 3, 4])).tolist() == [0, 0, 2**63, 2**63]
    assert len(set(mix(np.arange(1000)).tolist())) == 1000
