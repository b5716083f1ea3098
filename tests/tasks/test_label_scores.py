"""Scores of each label column against scikit-learn's, and the reason where there is none."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as theirs

from gmpool.report.column_scores import DIVERGED, UNRANKED
from gmpool.tasks.label_scores import label_scores

NAN = math.nan
FEW = st.sampled_from([-1.5, -0.5, 0.25, 2.0])  # few values: many ties


def scored(task: str, out: Any, y: Any, **how: Any) -> dict[str, Any]:
    """The test part of one label column called "it"."""
    made, truth = torch.as_tensor(out), torch.as_tensor(y)
    if task != "multiclass":
        made, truth = made.view(-1, 1), truth.view(-1, 1)
    found = label_scores(task, ["it"], {"test": (made, truth)}, **how)
    assert found["labels"] == ["it"]
    json.dumps(found, allow_nan=False)
    part = dict(found["test"])
    why = part.pop("undefined", {}).get("it", {})
    scores = {name: values[0] for name, values in part.items()}
    assert {name for name, value in scores.items() if value is None} == set(why)
    return scores | why


@given(st.data(), st.integers(2, 25))
def test_answers_are_scored_as_scikit_learn_does(data: st.DataObject, n: int) -> None:
    out = data.draw(arrays(float, n, elements=FEW))
    y = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0, NAN])))
    there = ~np.isnan(y)
    assume(len(np.unique(y[there])) == 2)
    o, t = out[there], y[there]
    assert scored("binary", out, y) == pytest.approx({
        "count": there.sum(),
        "roc_auc": 100 * theirs.roc_auc_score(t, o),
        "pr_auc": 100 * theirs.average_precision_score(t, o),
        "accuracy": 100 * theirs.accuracy_score(t, o > 0),
        "f1": 100 * theirs.f1_score(t, o > 0),
    })  # fmt: skip


@given(st.data(), st.integers(1, 25), st.integers(3, 4))
def test_classes_are_scored_as_scikit_learn_does(data: st.DataObject, n: int, classes: int) -> None:
    out = data.draw(arrays(float, (n, classes), elements=FEW))
    y = data.draw(arrays(np.int64, n, elements=st.integers(0, classes - 1)))
    said = out.argmax(1)
    assert scored("multiclass", out, y) == pytest.approx({
        "count": n,
        "accuracy": 100 * theirs.accuracy_score(y, said),
        "f1": 100 * theirs.f1_score(y, said, average="macro"),
    })  # fmt: skip


@given(st.data(), st.integers(2, 25))
def test_of_two_named_classes_neither_is_the_yes(data: st.DataObject, n: int) -> None:
    out = data.draw(arrays(float, (n, 2), elements=FEW))
    y = data.draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    assume(len(np.unique(y)) == 2)
    found = scored("multiclass", out, y)
    sure = out[:, 1] - out[:, 0]
    assert found["roc_auc"] == pytest.approx(100 * theirs.roc_auc_score(y, sure))
    both = theirs.average_precision_score(y, sure), theirs.average_precision_score(1 - y, -sure)
    assert found["pr_auc"] == pytest.approx(50 * sum(both))
    other = scored("multiclass", out[:, ::-1].copy(), 1 - y)
    names = ("roc_auc", "pr_auc")
    assert [found[k] for k in names] == pytest.approx([other[k] for k in names])


@given(st.data(), st.integers(2, 25))
def test_numbers_are_scored_as_scikit_learn_does(data: st.DataObject, n: int) -> None:
    numbers = st.floats(-100, 100, width=32)
    out = data.draw(arrays(float, n, elements=numbers))
    y = data.draw(arrays(float, n, elements=numbers))
    assume(np.ptp(y) > 1e-3)
    assert scored("regression", out, y) == pytest.approx({
        "count": n,
        "rmse": theirs.root_mean_squared_error(y, out),
        "mae": theirs.mean_absolute_error(y, out),
        "r2": theirs.r2_score(y, out),
    }, rel=1e-5, abs=1e-6)  # fmt: skip


def test_each_column_is_scored_alone_on_the_labels_it_has() -> None:
    out = torch.tensor([[1.0, 1000.0], [2.0, 3000.0], [9.0, 2000.0]])
    y = torch.tensor([[2.0, 1500.0], [4.0, NAN], [NAN, 2500.0]])
    found = label_scores("regression", ["a", "b"], {"valid": (out, y)})["valid"]
    assert found["count"] == [2, 2]
    assert found["rmse"] == pytest.approx([math.sqrt(2.5), 500.0])
    assert found["mae"] == [1.5, 500.0]


def test_padding_of_a_stack_is_no_label() -> None:
    """A negative class, or no label at all."""
    out = torch.tensor([[2.0, 1.0, 0.0], [0.0, 5.0, 1.0], [9.0, 0.0, 0.0]])
    found = scored("multiclass", out, torch.tensor([0, 2, -100]))
    assert (found["count"], found["accuracy"]) == (2, 50.0)


@pytest.mark.parametrize(
    ("task", "out", "y", "why"),
    [
        ("binary", [0.1, 0.2], [1.0, 1.0], {"roc_auc": "one class only in the test part"}),
        ("binary", [-0.1, -2.0], [0.0, 0.0], {"pr_auc": "one class only in the test part",
                                              "f1": "no yes in the test part"}),
        ("binary", [0.1, 0.2], [NAN, NAN], {"accuracy": "no label in the test part"}),
        ("multiclass", [[0.1, 0.2]], [1], {"roc_auc": "one class only in the test part"}),
        ("regression", [1.0, 2.0], [3.0, NAN], {"r2": "fewer than two labels in the test part"}),
        ("regression", [1.0, 2.0], [3.0, 3.0], {"r2": "all labels are equal in the test part"}),
        ("regression", [1.0, 2.0], [NAN, NAN], {"rmse": "no label in the test part"}),
        ("regression", [NAN, 2.0], [1.0, 2.0], {"rmse": DIVERGED, "mae": DIVERGED}),
        ("binary", [NAN, 2.0], [1.0, 0.0], {"roc_auc": DIVERGED, "accuracy": DIVERGED}),
        ("multiclass", [[1.0, math.inf, 0.0]], [1], {"accuracy": DIVERGED, "f1": DIVERGED}),
    ],
)  # fmt: skip
def test_what_is_not_defined_says_why(task: str, out: Any, y: Any, why: dict[str, str]) -> None:
    found = scored(task, out, y)
    assert {name: found[name] for name in why} == why


def test_an_output_without_a_label_may_be_anything() -> None:
    assert scored("regression", [NAN, 2.0, 3.0], [NAN, 1.0, 2.0])["rmse"] == 1.0


def test_a_method_that_only_names_classes_has_no_curve() -> None:
    found = scored("multiclass", np.eye(2), [0, 1], ranked=False)
    assert (found["roc_auc"], found["accuracy"], found["f1"]) == (UNRANKED, 100.0, 100.0)
