"""Graphs to reconstruct, wherever they come from, and the split that is used with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_graphs import points

from gmpool.data import Dataset
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.data import reconstruct_data, reconstruct_split


def test_where_graphs_come_from(tmp_path: Path) -> None:
    ring = reconstruct_data("ring", parameters={"n": 10})
    assert ring.graphs.num_nodes == 10
    table = tmp_path / "own.csv"
    table.write_text("smiles\nCCO\nCC\nCN\nC=O\n")
    own = reconstruct_data(str(table))
    assert own.graphs.node_type_names
    assert reconstruct_split(own).train.numel() == 2
    with pytest.raises(UserError, match="n is for a graph that is made on the spot"):
        reconstruct_data(str(table), parameters={"n": 3})
    with pytest.raises(UserError, match="smiles_column is for a table"):
        reconstruct_data("ring", table={"smiles_column": "s"})
    with pytest.raises(UserError, match="unknown graph 'rign'"):
        reconstruct_data("rign")
    with pytest.raises(UserError, match="no such file"):
        reconstruct_data(str(tmp_path / "none.safetensors"))


def test_the_split_of_a_set_without_one() -> None:
    one = Dataset("one", points(1), (), None)
    split = reconstruct_split(one)
    assert split.train.tolist() == split.valid.tolist() == split.test.tolist() == [0]
    with pytest.raises(UserError, match="has 2 graphs, too few"):
        reconstruct_split(Dataset("two", points(2), (), None))
    many = reconstruct_split(Dataset("many", points(20), (), None))
    assert [len(part) for part in (many.train, many.valid, many.test)] == [16, 2, 2]
