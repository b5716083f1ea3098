from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gmpool.data import PackedGraphs, from_pyg
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


def test_rows_and_columns_must_fit() -> None:
    with pytest.raises(DataError, match="node_float has 5 rows, expected 6"):
        replace(good(), node_float=torch.zeros(5, 1)).validate()
    with pytest.raises(DataError, match="node_cat has 1 columns, but 2 sizes"):
        replace(good(), cat_sizes=(2, 2)).validate()
    with pytest.raises(DataError, match="1 graph names for 3 graphs"):
        replace(good(), graph_names=("a",)).validate()
