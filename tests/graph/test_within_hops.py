"""Reach by boolean powers against walking."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from graphs import random_batch

from gmpool.graph.edges import Edges
from gmpool.graph.within_hops import reach


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_pairs_within_so_many_steps(hops: int, directed: bool) -> None:
    batch = random_batch([8, 1, 0, 6], 2, density=0.2, directed=directed, seed=3)
    edges = Edges.of(batch.edge_index, len(batch.x), torch.float64)
    pattern = reach(edges.plain.pattern, hops)
    found = set(zip(pattern.rows.tolist(), pattern.col.tolist(), strict=True))
    graph = nx.DiGraph(zip(*batch.edge_index.tolist(), strict=True))
    graph.add_nodes_from(range(len(batch.x)))
    expected = {
        (target, source)
        for source in graph
        for target, steps in nx.single_source_shortest_path_length(graph, source, hops).items()
        if steps > 0
    }
    assert found == expected
