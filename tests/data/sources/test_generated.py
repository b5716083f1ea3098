from __future__ import annotations

import logging
import sys

import networkx as nx
import pytest
import torch

from gmpool.data import generate, generator_names, to_networkx
from gmpool.data.sources import generated
from gmpool.errors import MissingPackage, UserError


def test_the_ring_lies_on_the_unit_circle() -> None:
    data = generate("ring")
    graphs = data.graphs
    assert (data.name, graphs.num_nodes, graphs.num_edges, graphs.symmetric) == (
        "ring", 200, 400, True,
    )  # fmt: skip
    assert graphs.node_float is not None
    torch.testing.assert_close(graphs.node_float.norm(dim=1), torch.ones(200))
    assert nx.is_isomorphic(to_networkx(graphs)[0], nx.cycle_graph(200))
    source, target = graphs.batch([0]).edge_index
    steps = (graphs.node_float[source] - graphs.node_float[target]).norm(dim=1)
    torch.testing.assert_close(steps, steps.mean().expand_as(steps), atol=1e-5, rtol=0)


def test_the_grid_has_steps_of_one_over_its_size() -> None:
    graphs = generate("grid", rows=4, columns=5).graphs
    assert graphs.name == "grid(rows=4, columns=5)"
    assert nx.is_isomorphic(to_networkx(graphs)[0], nx.grid_2d_graph(4, 5))
    assert graphs.node_float is not None
    assert graphs.node_float[0].tolist() == [0.0, 0.75]  # the first row is the top
    torch.testing.assert_close(graphs.node_float[-1], torch.tensor([0.8, 0.0]))
    source, target = graphs.batch([0]).edge_index
    steps = (graphs.node_float[source] - graphs.node_float[target]).abs()
    torch.testing.assert_close(steps.max(0).values, torch.tensor([0.2, 0.25]))
    assert (steps.min(1).values < 1e-6).all(), "an edge runs along one axis"
    whole = generate("grid").graphs
    assert (whole.num_nodes, whole.num_edges) == (900, 2 * 2 * 30 * 29)


def test_one_graph_is_every_part_of_the_split() -> None:
    data = generate("ring", n=5)
    (split,) = data.folds
    assert [p.tolist() for p in (split.train, split.valid, split.test)] == [[0]] * 3
    assert (data.metric, data.graphs.y) == (None, None)


def test_generators_of_networkx() -> None:
    graphs = generate("barabasi_albert_graph", n=30, m=2).graphs
    want = nx.barabasi_albert_graph(30, 2, seed=0)
    assert set(to_networkx(graphs)[0].edges) == set(want.edges)
    assert graphs.name == "barabasi_albert_graph(n=30, m=2)"
    again = generate("barabasi_albert_graph", n=30, m=2, seed=0).graphs
    assert torch.equal(graphs.node_float, again.node_float)
    other = generate("barabasi_albert_graph", n=30, m=2, seed=1).graphs
    assert not torch.equal(graphs.row_ptr, other.row_ptr)
    assert graphs.node_float is not None
    assert graphs.node_float.shape == (30, 2)
    assert graphs.node_float.abs().max() <= 1


def test_positions_of_the_generator_are_kept() -> None:
    graphs = generate("random_geometric_graph", n=20, radius=0.5).graphs
    want = nx.get_node_attributes(nx.random_geometric_graph(20, 0.5, seed=0), "pos")
    torch.testing.assert_close(graphs.node_float, torch.tensor([want[i] for i in range(20)]))


def test_what_a_simple_graph_does_not_have_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        graphs = generate("margulis_gabber_galil_graph", n=3).graphs
    assert graphs.symmetric
    assert "loops and repeated or reverse edges are left out" in caplog.text


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("rings", {}, r"unknown graph 'rings' \(near to it: ring, .* known: ring, grid and the 1"),
        ("ring", {"m": 3}, "unknown parameter of ring 'm'"),
        ("ring", {"n": 2}, "ring: n must be a whole number from 3 to 1,000,000, got 2"),
        ("grid", {"rows": 1.5}, "grid: rows must be a whole number from 1 to 1,0.*, got 1.5"),
        ("ring", {"n": 10**12}, "n must be a whole number from 3 to 1,000,000, got 1000000000000"),
        ("ring", {"n": True}, "got True"),
        ("grid", {"rows": 10**5, "columns": 10**5}, "columns must be .* from 1 to 10, got 100000"),
        (
            "path_graph",
            {"n": 10**12},
            "path_graph: n=1000000000000 is too large; at most 1,000,000",
        ),
        ("hypercube_graph", {"n": 40}, "cannot be made: it has more than 9 nodes and edges"),
        ("complete_graph", {"n": 10**6}, "cannot be made: it has more than 9 nodes and edges"),
        ("barabasi_albert_graph", {"n": 5}, "barabasi_albert_graph needs m=…"),
        ("barabasi_albert_graph", {"n": 5, "m": 9}, "cannot be made: .* must have m >= 1"),
        ("nonisomorphic_trees", {"order": 4}, "makes no graph with nodes but: generator"),
        ("empty_graph", {}, "makes no graph with nodes but: Graph with 0 nodes"),
    ],
)
def test_mistakes_name_the_way_out(
    name: str, parameters: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "more than 9 nodes" in message:
        monkeypatch.setattr(generated, "MOST_PARTS", 9)
    with pytest.raises(UserError, match=message):
        generate(name, **parameters)
    assert nx.Graph.node_attr_dict_factory is nx.Graph.edge_attr_dict_factory is dict


def test_ring_and_grid_need_no_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"ring", "grid", "karate_club_graph"} <= set(generator_names())
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert generator_names() == ("ring", "grid")
    assert generate("ring", n=4).graphs.num_nodes == 4
    with pytest.raises(MissingPackage, match=r"gmpool\[graphs\]"):
        generate("karate_club_graph")
