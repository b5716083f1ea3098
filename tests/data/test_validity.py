from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg
from gmpool.data.splits import Split
from gmpool.data.validity import MOST_CATEGORIES, check_split
from gmpool.errors import DataError


def good() -> PackedGraphs:
    one = Data(
        x=torch.zeros(2, 3),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_attr=torch.zeros(2, 1, dtype=torch.int64),
        y=torch.tensor([0]),
    )
    return from_pyg([one, one, one]).with_degree_features()


def spoiled(tensor: torch.Tensor | None, at: Any, value: float) -> torch.Tensor:
    assert tensor is not None
    changed = tensor.clone()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("field", "at", "value", "message"),
    [
        ("node_float", (3, 2), float("nan"), "graph 1, node 1, node_float column 2: value is nan"),
        ("node_float", (0, 0), float("inf"), "graph 0, node 0, node_float column 0: value is inf"),
        ("node_cat", (5, 0), 9, r"graph 2, node 1, node_cat column 0: 9 is not in 0\.\.1"),
        ("edge_cat", (2, 0), 4, r"graph 1, edge 1 -> 0, edge_cat column 0: 4 is not in 0\.\.0"),
        ("col", 3, 7, "graph 1, edge 7 -> 1: that graph has only 2 nodes"),
        ("y", 1, 5, r"graph 1: label 5 is not a class in 0\.\.0"),
        ("node_ptr", 0, 1, "node_ptr must be ascending int64 offsets from 0 to 6"),
        ("row_ptr", 2, 9, "row_ptr must be ascending"),
    ],
)
def test_what_is_wrong_is_named(field: str, at: Any, value: float, message: str) -> None:
    graphs = good()
    assert graphs.validate() is graphs
    broken = replace(graphs, **{field: spoiled(getattr(graphs, field), at, value)})
    with pytest.raises(DataError, match=message):
        broken.validate()


def test_labels_of_other_tasks() -> None:
    nan = float("nan")
    y = torch.tensor([[0.0, 1.0], [nan, 1.0], [1.0, nan]])
    names = {"class_names": (), "task_names": ("a", "b")}
    binary = replace(good(), y=y, task="binary", **names)
    assert binary.validate().num_outputs == 2
    with pytest.raises(DataError, match="graph 0, b: label 3 is not 0, 1 or missing"):
        replace(binary, y=spoiled(y, (0, 1), 3.0)).validate()
    with pytest.raises(DataError, match="graph 2, a: label inf is not finite"):
        replace(binary, task="regression", y=spoiled(y, (2, 0), float("inf"))).validate()
    with pytest.raises(DataError, match="binary y must be"):
        replace(binary, y=y[:, :1]).validate()
    with pytest.raises(DataError, match="multiclass y must be int64"):
        replace(good(), y=y).validate()
    with pytest.raises(DataError, match="the task is None"):
        replace(good(), task=None).validate()


def test_types_and_dimensions_must_be_those_of_the_fields() -> None:
    graphs = good()
    for field, value, message in (
        ("col", graphs.col.float(), "col must be uint8 or int16 .* of 1 dimensions"),
        ("node_ptr", graphs.node_ptr.int(), "node_ptr must be int64 of 1 dimensions"),
        ("node_float", graphs.node_float.double(), "node_float must be float32 of 2 dimensions"),
        ("edge_weight", torch.ones(6, 1), "edge_weight must be float32 of 1 dimensions"),
        ("y", graphs.y.int(), "y must be int64 or float32"),
        ("cat_sizes", [2], "cat_sizes must be a tuple of int"),
        ("cat_sizes", (True,), "cat_sizes must be a tuple of int"),
        ("cat_starts", (2**70,), "cat_starts holds numbers beyond 64 bits"),
        ("cat_starts", (0, 0), "2 cat_starts for 1 cat_sizes"),
        ("class_names", (1,), "class_names must be a tuple of str"),
        ("task_names", ("a", "b"), "multiclass labels have one name"),
        ("task", "sorting", "y is given, but the task is 'sorting'"),
        ("y", None, "the task is 'multiclass', but y is missing"),
        ("name", 3, "the name of a set must be a string"),
    ):
        with pytest.raises(DataError, match=message):
            replace(graphs, **{field: value}).validate()


def test_offsets_that_wrap_when_subtracted() -> None:
    ptr = torch.tensor([0, 2**63 - 1, -2, 6])
    with pytest.raises(DataError, match="node_ptr must be ascending"):
        replace(good(), node_ptr=ptr).validate()


def test_the_edges_of_a_node_are_in_order() -> None:
    star = Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[1, 2, 0], [0, 0, 1]]))
    graphs = from_pyg([star])
    assert graphs.col.tolist() == [1, 2, 0]
    with pytest.raises(DataError, match=r"graph 0, edge 1 -> 0: the sources .* ascending order"):
        replace(graphs, col=torch.tensor([2, 1, 0], dtype=torch.uint8)).validate()


def test_features_have_a_largest_width() -> None:
    with pytest.raises(DataError, match="node_cat makes 65,537 columns of 0 and 1"):
        replace(good(), cat_sizes=(MOST_CATEGORIES + 1,)).validate()
    for size in (2, 255, 256, 257, MOST_CATEGORIES):  # node_cat is of 8 bits
        assert replace(good(), cat_sizes=(size,)).validate()


def test_splits_are_of_graphs_that_are_there_and_disjoint() -> None:
    def check(*parts: list[int], of: int = 3) -> None:
        check_split(Split(*(torch.tensor(ids, dtype=torch.int64) for ids in parts)), of, "set")

    check([0], [2], [1])
    check([], [], [])
    check([0], [0], [0], of=1)
    with pytest.raises(DataError, match="set: graph 2 is in the split parts train and test"):
        check([0, 2], [1], [2])
    with pytest.raises(DataError, match="set: split part valid names a graph twice"):
        check([0], [1, 1], [2])
    with pytest.raises(DataError, match="set: split part test names graph -1, but there are 3"):
        check([0], [1], [-1])
    with pytest.raises(DataError, match=r"split part train must be int64 ids .*float32 \[3\]"):
        check_split(Split(torch.ones(3), torch.tensor([0]), torch.tensor([1])), 3, "set")


def test_rows_and_columns_must_fit() -> None:
    with pytest.raises(DataError, match="node_float has 5 rows, expected 6"):
        replace(good(), node_float=torch.zeros(5, 1)).validate()
    with pytest.raises(DataError, match="node_cat has 1 columns, but 2 sizes"):
        replace(good(), cat_sizes=(2, 2)).validate()
    with pytest.raises(DataError, match="1 graph names for 3 graphs"):
        replace(good(), graph_names=("a",)).validate()


def test_a_name_of_any_length_is_told_in_short() -> None:
    named = replace(good(), name="x" * 20_000)
    with pytest.raises(DataError, match=r"…: .* offsets") as error:
        replace(named, node_ptr=spoiled(named.node_ptr, 0, 1)).validate()
    assert len(str(error.value)) < 400
    with pytest.raises(DataError) as error:
        check_split(Split(torch.tensor([9]), torch.tensor([0]), torch.tensor([1])), 3, named.name)
    assert len(str(error.value)) < 400
