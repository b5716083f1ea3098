from __future__ import annotations

import numpy as np
import pytest
import torch

from gmpool.data.labels import MAX_CLASSES, check_task, class_fields, infer_task, label_fields
from gmpool.errors import DataError, UserError

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        ([[0], [1], [1]], "binary"),
        ([[0, NAN], [1, 1]], "binary"),
        ([[NAN], [NAN]], "binary"),
        ([[0], [1], [2]], "multiclass"),
        ([[3], [1], [2]], "multiclass"),
        ([[2], [3]], "regression"),
        ([[0], [1], [2.5]], "regression"),
        ([[0], [1], [2], [NAN]], "regression"),
        ([[0, 1], [1, 2]], "regression"),
        ([[i] for i in range(MAX_CLASSES)], "multiclass"),
        ([[i] for i in range(MAX_CLASSES + 1)], "regression"),
    ],
)
def test_what_labels_mean(values: list[list[float]], task: str) -> None:
    assert infer_task(np.array(values, dtype=np.float64)) == task


def test_classes_are_numbered_in_order() -> None:
    made = label_fields(np.array([[7.0], [-1.0], [7.0]]), ("y",), "multiclass", "here")
    assert made["y"].tolist() == [1, 0, 1]
    assert (made["class_names"], made["task_names"]) == (("-1", "7"), ("y",))
    words = class_fields(["red", "blue", "red"], "colour")
    assert words["y"].tolist() == [1, 0, 1]
    assert (words["class_names"], words["task_names"]) == (("blue", "red"), ("colour",))


def test_missing_answers_stay_missing() -> None:
    made = label_fields(np.array([[0.0, NAN], [1.0, 1.0]]), ("a", "b"), None, "here")
    assert (made["task"], made["y"].dtype) == ("binary", torch.float32)
    assert torch.isnan(made["y"]).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        ([[0.0, 1.0]], "multiclass", r"here: multiclass needs one label column \(got 2\)"),
        ([[0.0], [NAN]], "multiclass", "here: graph 1 has no label"),
        ([[0.0, 1.0], [1.0, 2.0]], "binary", "here: graph 1, b: label 2 is not 0, 1 or missing"),
    ],
)
def test_labels_that_do_not_fit(values: list[list[float]], task: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        label_fields(np.array(values), ("a", "b")[: len(values[0])], task, "here")
    with pytest.raises(UserError, match="unknown task 'binry'; did you mean 'binary'"):
        check_task("binry")
