from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given
from random_graphs import data_lists
from torch_geometric.data import Data

from gmpool.data import from_networkx, from_pyg, from_smiles, to_networkx
from gmpool.errors import DataError, UserError


def test_undirected_edges_go_both_ways() -> None:
    graphs = from_networkx([nx.path_graph(3), nx.star_graph(2)], y=[0, 1])
    batch = graphs.batch([0])
    assert batch.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert batch.x.tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert graphs.symmetric
    assert graphs.task == "multiclass"


def test_directed_weighted_graph_with_features() -> None:
    graph = nx.DiGraph(y=0.5)
    graph.add_node("a", pos=(1.0, 2.0), kind="C")
    graph.add_node("b", pos=(3.0, 4.0), kind="N")
    graph.add_edge("a", "b", weight=2.5)
    graph.add_edge("b", "b")
    graphs = from_networkx(
        [graph], node_features="pos", node_label="kind", node_categories=["N", "O", "C"]
    )
    batch = graphs.batch([0])
    assert batch.edge_index.tolist() == [[0, 1], [1, 1]]
    assert batch.edge_weight.tolist() == [2.5, 1.0]
    assert batch.x.tolist() == [[1, 2, 0, 0, 1], [3, 4, 1, 0, 0]]
    assert graphs.task == "regression"
    assert not graphs.symmetric
    back = to_networkx(graphs)[0]
    assert isinstance(back, nx.DiGraph)
    assert back.edges[0, 1]["weight"] == 2.5
    assert back.graph["y"] == [0.5]


def test_constant_feature_and_word_labels() -> None:
    graphs = from_networkx(
        [nx.path_graph(2), nx.empty_graph(1)], y=["x", "a"], without_features="constant"
    )
    assert graphs.batch([0, 1]).x.tolist() == [[1.0]] * 3
    assert graphs.class_names == ("a", "x")
    assert from_networkx([nx.path_graph(2)] * 2, y=[0.0, 1.0]).task == "binary"
    assert from_networkx([nx.path_graph(2)]).y is None


@given(data_lists())
def test_round_trip_keeps_the_adjacency(data: list[Data]) -> None:
    for one in data:
        one.edge_attr = None
    graphs = from_pyg(data)
    listed = to_networkx(graphs)
    nodes = graphs.num_nodes > 0
    back = from_networkx(listed, node_features="x" if nodes else None)
    got, want = (s.batch(range(len(s))) for s in (back, graphs))
    assert torch.equal(got.edge_index, want.edge_index)
    if nodes:
        torch.testing.assert_close(got.x, want.x)
    if want.edge_weight is not None and got.edge_weight is not None:
        torch.testing.assert_close(got.gcn.weight, want.gcn.weight)


def test_molecules_have_names_and_bonds() -> None:
    graph = to_networkx(from_smiles(["CO"]))[0]
    assert graph.graph["name"] == "CO"
    assert len(graph.edges[0, 1]["edge_attr"]) == 13


def test_errors() -> None:
    path = nx.path_graph(2)
    with pytest.raises(DataError, match="the list of graphs is empty"):
        from_networkx([])
    with pytest.raises(DataError, match="graph 0, node 0: no attribute 'pos'"):
        from_networkx([path], node_features="pos")
    with pytest.raises(DataError, match="2 labels for 1 graphs"):
        from_networkx([path], y=[1, 2])
    with pytest.raises(DataError, match="graph 1: no label, but other graphs have one"):
        from_networkx([path, path], y=[1, None])
    with pytest.raises(DataError, match="labels are not all numbers"):
        from_networkx([path, path], y=[1, "x"])
    bad = nx.Graph()
    bad.add_edge(0, 1, weight="heavy")
    with pytest.raises(DataError, match="graph 0, edge 0 - 1: weight 'heavy' is not a number"):
        from_networkx([bad])
    nx.set_node_attributes(bad, {0: (1.0,), 1: (1.0, 2.0)}, "pos")
    nx.set_node_attributes(bad, {0: "C", 1: "X"}, "kind")
    with pytest.raises(DataError, match="node 1: pos has 2 values, not 1"):
        from_networkx([bad], weight=None, node_features="pos")
    with pytest.raises(DataError, match="node 0: kind 'C' is not a number or vector"):
        from_networkx([bad], weight=None, node_features="kind")
    with pytest.raises(DataError, match="node 1: kind 'X' is not a known category"):
        from_networkx([bad], weight=None, node_label="kind", node_categories=["C"])
    with pytest.raises(DataError, match="but max_degree is 0"):
        from_networkx([path]).with_degree_features(0)


def test_values_that_cannot_be_used() -> None:
    path = nx.path_graph(2)
    with pytest.raises(DataError, match="graph 1: str, not a NetworkX graph"):
        from_networkx([path, "CCO"])
    with pytest.raises(UserError, match="unknown without_features 'degre'; did you mean 'degree'"):
        from_networkx([path], without_features="degre")
    for weight, problem in ((10**400, "is not a number"), (float("nan"), "value is nan")):
        heavy = nx.Graph([(0, 1, {"weight": weight})])
        with pytest.raises(DataError, match=f"graph 1, edge .*{problem}"):
            from_networkx([path, heavy])
    for value, problem in (
        ([1], r"\[1\] cannot be a category"),
        (float("nan"), "nan cannot be a category"),
        (1j, "not supported .* give their order as node_categories"),
    ):
        odd = nx.path_graph(2)
        nx.set_node_attributes(odd, {0: value, 1: 2 * value}, "kind")
        with pytest.raises(DataError, match=problem):
            from_networkx([odd], node_label="kind")
    nx.set_node_attributes(path, "C", "kind")
    with pytest.raises(DataError, match="node_categories names a category twice"):
        from_networkx([path], node_label="kind", node_categories=["C", "C"])
    nx.set_node_attributes(path, 10**400, "size")
    with pytest.raises(DataError, match=r"node 0: size 1000.* is not a number or vector"):
        from_networkx([path], node_features="size")
    nx.set_node_attributes(path, 1e39, "size")
    with pytest.raises(DataError, match="graph 0, node 0, node_float column 0: value is inf"):
        from_networkx([path], node_features="size")
