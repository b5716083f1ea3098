"""What X may be, and what is said of all else."""

from __future__ import annotations

import re
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import Chem
from torch_geometric.data import Batch, Data

from gmpool.data import Dataset, from_networkx, from_smiles
from gmpool.errors import DataError, UserError, WrongType
from gmpool.estimators.inputs import KINDS, categories_of, listed, packed

SMILES = ["CCO", "CN"]


def pyg(**more: Any) -> Data:
    ends = torch.tensor([[0, 1], [1, 0]])
    return Data(x=torch.ones(2, 3), edge_index=ends, **more)


def path(kinds: Any) -> nx.Graph:
    graph = nx.path_graph(len(kinds))
    nx.set_node_attributes(graph, dict(enumerate(kinds)), "kind")
    return graph


@pytest.mark.parametrize(
    "given",
    [
        SMILES, tuple(SMILES), iter(SMILES), np.array(SMILES), np.array(SMILES, object)[:, None],
        pd.Series(SMILES, index=[7, 3]), pd.Series(SMILES, dtype="string"), pd.Index(SMILES),
        pd.DataFrame({"s": SMILES}), dict(enumerate(SMILES)).values(),
    ],
)  # fmt: skip
def test_one_entry_for_each_graph(given: Any) -> None:
    found = listed(given)
    assert found == SMILES
    assert {type(each) for each in found} == {str}
    assert packed(found).graph_names == tuple(SMILES)


def test_packed_graphs_stay_as_they_are() -> None:
    graphs = from_smiles(SMILES, [0.0, 1.0])
    assert listed(graphs) is graphs
    assert packed(graphs) is graphs
    assert listed(Dataset.of(graphs, folds=())) is graphs


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("CCO", "got str"),
        (b"CCO", "got bytes"),
        ({"a": "CCO"}, "got dict"),
        ({"CCO"}, "got set"),
        (None, "got NoneType"),
        (3, "got int"),
        (Chem.MolFromSmiles("CCO"), "got Mol; of an RDKit molecule give Chem.MolToSmiles(mol)"),
        (pyg(), "got a Data itself; put it into a list"),
        (Batch.from_data_list([pyg()]), "got a DataBatch itself; give X.to_data_list()"),
        (nx.path_graph(3), "got a Graph itself; put it into a list"),
    ],
)
def test_what_is_no_list_of_graphs(given: Any, sentence: str) -> None:
    with pytest.raises(WrongType, match=f"^{re.escape(f'X is {KINDS}, {sentence}')}$"):
        listed(given)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (pd.DataFrame({"s": SMILES, "t": SMILES}), "got shape (2, 2); choose one, such as X['s']"),
        (np.ones((2, 3)), "got shape (2, 3)"),
        (np.array("CCO"), "got shape ()"),
        (pd.DataFrame(index=[0, 1]), "got shape (2, 0)"),
    ],
)
def test_tables_of_not_one_column(given: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=f"an array needs one column, {re.escape(sentence)}$"):
        listed(given)


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        ([], DataError, "X is empty: at least one graph is needed"),
        ([None, None], DataError, "X, row 0: None is no graph, and no other row is; X is a list"),
        ([np.nan], DataError, "X, row 0: nan is no graph"),
        ([1.5, 2.5], WrongType, "got float as its first entry$"),
        ([None, [1]], WrongType, "got list in row 1$"),
        (torch.ones(2, 3), WrongType, "got Tensor as its first entry$"),
        (
            [Chem.MolFromSmiles("C")],
            WrongType,
            "got Mol as its .*; of an RDKit molecule give Chem.Mol",
        ),
        (["CC", None], DataError, "row 1: None is no SMILES but NoneType"),
        (pd.Series(["CC", pd.NA]), DataError, "row 1: .* is no SMILES but"),
        ([None, "CC"], DataError, "row 0: None is no SMILES"),
        (["CC", nx.path_graph(2)], DataError, "row 1: .* is no SMILES but Graph"),
        (["CC", "C("], DataError, r"row 1.*C\("),
        ([nx.path_graph(2), "CC"], WrongType, "^X, row 1: str, where row 0 is NetworkX graphs$"),
        ([pyg(), nx.path_graph(2)], WrongType, "^X, row 1: Graph, where row 0 is PyG Data$"),
        ([pyg(), pyg(), None], WrongType, "^X, row 2: NoneType, where row 0 is PyG Data$"),
        ([None, pyg()], WrongType, "^X, row 0: NoneType, where row 1 is PyG Data$"),
    ],
)
def test_entries_that_are_no_graphs(given: Any, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        packed(given)


@pytest.mark.parametrize("name", ["node_label", "node_features"])
@pytest.mark.parametrize(
    ("given", "what"),
    [(SMILES, "SMILES"), ([pyg()], "PyG Data"), (from_smiles(SMILES), "PackedGraphs")],
    ids=["smiles", "pyg", "packed"],
)
def test_attributes_are_of_networkx_nodes(name: str, given: Any, what: str) -> None:
    sentence = f"^{name}='kind' names an attribute of NetworkX nodes; X is {what}$"
    with pytest.raises(UserError, match=sentence):
        packed(given, **{name: "kind"})
    assert categories_of(given, "kind") is None


def test_labels_of_graphs_are_no_part_of_them() -> None:
    data, graph = pyg(y=torch.tensor([3.0])), nx.path_graph(3)
    graph.graph["y"] = 1
    for one in (data, graph):
        with_label, without = packed([one, one]), packed([one])
        assert with_label.y is None
        assert without.num_graphs == 1
    assert data.y.tolist() == [3.0]  # what was given stays as it is
    assert graph.graph["y"] == 1


def test_categories_are_numbered_in_order() -> None:
    X = [path(["b", "a"]), path(["c"])]
    assert categories_of(X, "kind") == ["a", "b", "c"]
    assert categories_of([path([(1, 2), (0, 5)])], "kind") == [(0, 5), (1, 2)]
    assert categories_of([path([np.int64(1), 2])], "kind") == [1, 2]
    assert categories_of([path([10, "1", 2])], "kind") == [2, 10, "1"]  # kinds apart
    assert categories_of(X, None) is None
    assert categories_of([], "kind") is None
    known = packed([path(["c"])], node_label="kind", node_categories=["a", "b", "c"])
    assert known.node_cat is not None
    assert known.node_cat.tolist() == [[2]]


def test_nodes_without_a_category() -> None:
    for X in ([path(["a"]), nx.path_graph(2)], [path([["a"], ["b"]])]):
        with pytest.raises(DataError, match=r"graph [01], node 0: "):
            packed(X, node_label="kind", node_categories=categories_of(X, "kind"))
    same = from_networkx([path(["a", "b"])], node_label="kind")
    again = packed([path(["a", "b"])], node_label="kind")
    assert torch.equal(same.node_cat, again.node_cat)  # type: ignore[arg-type]
