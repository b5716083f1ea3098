"""What tasks have in common whose examples are graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from own_set import write_set
from small_sets import MODEL, classes
from trainings import as_set

from gmpool.data import card
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.tasks.graph_task import keyword_options
from gmpool.tasks.task import TASKS

CLASSIFY = TASKS["classify"]


def test_a_name_has_a_card_and_a_path_has_none() -> None:
    assert CLASSIFY.card("MUTAG") == card("MUTAG")
    assert CLASSIFY.card("own/set") is None


def test_own_data_lie_beside_the_plan(tmp_path: Path) -> None:
    write_set(tmp_path / "own")
    assert CLASSIFY.own("own", tmp_path).name == "SHAPES"
    with pytest.raises(UserError, match="unknown dataset 'MUTAGG'; did you mean 'MUTAG'"):
        CLASSIFY.own("MUTAGG", tmp_path)
    with pytest.raises(UserError, match="no such file"):
        CLASSIFY.own("none.csv", tmp_path)


def test_graphs_that_cannot_be_stacked() -> None:
    graphs = classes()
    assert CLASSIFY.cannot_stack(as_set(graphs), MODEL) is None
    weighted = replace(graphs, edge_weight=torch.ones(graphs.num_edges))
    assert CLASSIFY.cannot_stack(as_set(weighted), MODEL) == (
        "shapes has directed or weighted edges"
    )


def test_the_size_of_an_example_is_its_nodes() -> None:
    assert CLASSIFY.size(as_set(classes())) == classes().mean_nodes


def test_the_options_of_a_method_are_its_keywords() -> None:
    found = keyword_options(METHODS["gmt"], without=["sizes"])
    assert found["num_heads"].default == 1
    assert {"in_dim", "hidden_dim", "sizes", "self"}.isdisjoint(found)
