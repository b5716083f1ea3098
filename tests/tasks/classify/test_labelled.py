"""Labels of new data, as a trained model understands them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from chains import chain_set

from gmpool.errors import DataError
from gmpool.tasks.classify.labelled import Labelled, is_table, labels_of_cells, labels_of_graphs
from gmpool.tasks.predictions import Answer, Predictions
from gmpool.tasks.shape import DataShape

NAN = np.nan
SHAPE = DataShape("regression", 3, 1, 5.0)
CLASSES = replace(SHAPE, task="multiclass", num_outputs=3, class_names=("2", "red", "a b"))


def made(*cells: str, problem: str | None = None) -> Predictions:
    """A table with SMILES and one label, and what was said of it in two parts; of the last row
    nothing."""
    answers = [
        Answer(["C", cell], f"t.csv:{line}", (0.5,)) for line, cell in enumerate(cells, start=2)
    ]
    answers.append(Answer(["?", "x"], "t.csv:99", None, "cannot parse"))
    kinds = {"pred_y": float}
    return Predictions.beside(["smiles", "y"], kinds, [answers[:1], answers[1:]], len(answers))


def read(shape: DataShape, *cells: str, skip: bool = True) -> Labelled:
    return labels_of_cells(
        made(*cells), shape, ["y"], 2, skip_bad_labels=skip, told=lambda rows, total: None
    )


def test_numbers_with_gaps_and_what_is_none() -> None:
    found = read(SHAPE, "1.5", "", "NA", "-2", "high", "1e99")
    np.testing.assert_array_equal(found.y, [[1.5], [NAN], [NAN], [-2], [NAN], [NAN]])
    assert found.unusable == [
        "t.csv:6: label 'high' in column 'y' is not a number",
        "t.csv:7: label '1e99' in column 'y' is too large: numbers end at 3.4e38",
    ]
    assert (found.rows, found.bad) == (7, ["t.csv:99: cannot parse"])
    assert [row.place for row in found.said] == [f"t.csv:{n}" for n in range(2, 8)]


def test_answers_are_yes_and_no() -> None:
    found = read(replace(SHAPE, task="binary"), "1", "0", "1.0", "", "2", "yes")
    np.testing.assert_array_equal(found.y[:, 0], [1, 0, 1, NAN, NAN, NAN])
    assert [line.split("'y' ")[1] for line in found.unusable] == [
        "is not a number", "is not 0, 1 or empty"
    ]  # fmt: skip


def test_classes_are_taken_by_name() -> None:
    """A number as it is written elsewhere is the same class."""
    found = read(CLASSES, " red ", "2", "2.0", "a b", "?", "3", "Red")
    np.testing.assert_array_equal(found.y[:, 0], [1, 0, 0, 2, NAN, NAN, NAN])
    assert found.unusable == [
        f"t.csv:{n}: label {cell!r} in column 'y' is no class of the model (2, red, a b)"
        for n, cell in ((7, "3"), (8, "Red"))
    ]


def test_labels_that_cannot_be_used_stop_unless_they_are_skipped() -> None:
    with pytest.raises(DataError, match=r"2 labels cannot be used:\n  t.csv:2: label 'a'.*\n.*'b'"):
        read(SHAPE, "a", "1", "b", skip=False)
    assert not read(SHAPE, "1", "", skip=False).unusable


def test_a_column_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"no column 'z', .* \(columns: 'smiles', 'y'\)"):
        labels_of_cells(
            made("1"), SHAPE, ["y", "z"], 2, skip_bad_labels=False, told=lambda rows, total: None
        )


def test_how_many_rows_are_done_is_told_part_by_part() -> None:
    seen: list[tuple[int, int | None]] = []
    labels_of_cells(
        made("1", "2"), SHAPE, ["y"], 2, skip_bad_labels=False, told=lambda *n: seen.append(n)
    )
    assert seen == [(1, 3), (3, 3)]


def test_labels_of_a_set_are_those_that_the_model_predicts() -> None:
    data = chain_set("binary")
    shape = DataShape.of(data.graphs)
    graphs, y, wrong = labels_of_graphs(data, None, shape, ["long", "oxygen"])
    assert graphs is data.graphs
    assert graphs.y is not None
    np.testing.assert_array_equal(y, graphs.y.double().numpy()[:, [1, 0]])
    assert wrong == []
    with pytest.raises(DataError, match="has binary labels oxygen, long; the model"):
        labels_of_graphs(data, None, replace(shape, task="regression"), ["y"])
    bare = replace(graphs, y=None, task=None, task_names=())
    with pytest.raises(DataError, match="no labels to compare with"):
        labels_of_graphs(bare, None, shape, ["long"])


def test_classes_of_a_set_that_are_missing_or_unknown() -> None:
    graphs = chain_set("multiclass").graphs
    assert graphs.y is not None
    y = graphs.y.clone()
    y[:3] = torch.tensor([-1, 3, 0])
    named = replace(graphs, y=y, class_names=("1", "0", "2", "x"))
    shape = DataShape.of(graphs)
    _, found, wrong = labels_of_graphs(named, None, shape, ["y"], skip_bad_labels=True)
    np.testing.assert_array_equal(found[:5, 0], [NAN, NAN, 1, NAN, 1])
    assert wrong[0] == "graph 1: class 'x' is none of the model"
    assert len(wrong) == int((y == 3).sum())


def test_what_is_a_table() -> None:
    data = chain_set()
    assert not is_table(data)
    assert not is_table(data.graphs)
    assert is_table("x.csv")
    assert not is_table("MUTAG")
