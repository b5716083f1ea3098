"""How much each graph counts: proportions of it, and what is none."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gmpool.errors import DataError, UserError, WrongType
from gmpool.estimators.targets import class_fields, columns_of, number_fields
from gmpool.estimators.weights import sample_weights, weights

NONE_GIVEN = "sample_weight must hold numbers of 0 or more that are not all zero"


def of_classes(y: Any, sample_weight: Any = None, class_weight: Any = None) -> Any:
    table, names, _ = columns_of(y, len(y))
    fields, classes = class_fields(table, names)
    return weights(sample_weight, class_weight, classes, fields)


@pytest.mark.parametrize(
    "given", [[1.0, 2.0, 0.0], [3, 6, 0], [1e-300, 2e-300, 0], [5e307, 1e308, 0]]
)
def test_only_proportions_count(given: list[float]) -> None:
    found = sample_weights(given, 3)
    assert found is not None
    np.testing.assert_allclose(found, [0.5, 1.0, 0.0])
    assert of_classes(["a", "b", "b"], given).tolist() == [0.5, 1.0, 0.0]


def test_weights_of_every_kind_are_read() -> None:
    for given in (
        (1, 2), np.array([1, 2], np.uint8), np.array([1, 2.0], object), torch.tensor([1.0, 2.0]),
        pd.Series([1, 2], dtype="Int64"), iter([1, 2]), [np.float32(1), 2],
    ):  # fmt: skip
        assert sample_weights(given, 2).tolist() == [0.5, 1.0]  # type: ignore[union-attr]
    assert sample_weights([True, False], 2).tolist() == [1.0, 0.0]  # type: ignore[union-attr]
    assert sample_weights(None, 2) is None
    assert of_classes(["a", "b"]) is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([1.0, -1.0], "row 1 is -1.0"),
        ([np.nan, 1.0], "row 0 is nan"),
        ([1.0, np.inf], "row 1 is inf"),
        ([1, None], "row 1 is None"),
        ([1.0, pd.NA], "row 1 is <NA>"),
        ([1.0, "a"], "row 1 is 'a'"),
        (["a", "b"], "row 0 is 'a'"),
        ([1.0, 2j], "row 0 is (1+0j)"),
        (np.array([1, 2j], object), "row 1 is 2j"),
        (np.array([1, 2], "M8[D]"), "row 0 is datetime.date"),
        ([1, 10**400], "row 1 is 1000"),
    ],
)
def test_what_is_no_weight_is_named(given: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=f"^{re.escape(f'{NONE_GIVEN}; {sentence}')}") as caught:
        sample_weights(given, 2)
    assert len(str(caught.value)) < 300


def test_no_weight_at_all() -> None:
    with pytest.raises(DataError, match=f"^{NONE_GIVEN}$"):
        sample_weights([0.0, 0.0], 2)


@pytest.mark.parametrize("given", [[1.0], [1.0, 1.0, 1.0], [[1.0], [1.0]], np.ones(())])
def test_one_weight_for_each_graph(given: Any) -> None:
    shape = re.escape(str(np.shape(given)))
    with pytest.raises(DataError, match=f"^sample_weight has shape {shape} for 2 graphs in X$"):
        sample_weights(given, 2)


@pytest.mark.parametrize("given", [2.0, "ab", {0: 1.0, 1: 2.0}])
def test_weights_that_are_no_list(given: Any) -> None:
    with pytest.raises(WrongType, match=f"^sample_weight has one entry .* {type(given).__name__}$"):
        sample_weights(given, 2)


def test_weights_of_classes() -> None:
    found = of_classes(["a", "b", "c", "a"], None, {"a": 2, "c": np.float64(0.5)})
    assert found.dtype == torch.float32
    assert found.tolist() == [1.0, 0.5, 0.25, 1.0]  # b counts 1, and the largest is 1
    both = of_classes(["a", "b", "a"], [1, 1, 0.5], {"a": 4})
    assert both.tolist() == [1.0, 0.25, 0.5]
    assert of_classes([0.0, 1.0], None, {1: 2}).tolist() == [0.5, 1.0]  # 1 is 1.0
    assert of_classes([False, True], None, {}).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"c": 1}, r"class_weight names 'c', which is no class of y \(\['a', 'b'\]\)"),
        ({0: 1}, "class_weight names 0, which is no class"),
        ({"a": -1}, "class_weight of 'a' is a number of 0 or more, got -1"),
        ({"a": np.nan}, "of 'a' is a number of 0 or more, got nan"),
        ({"b": np.inf}, "of 'b' is a number of 0 or more, got inf"),
        ({"b": "x"}, "of 'b' is a number of 0 or more, got 'x'"),
        ({"b": None}, "of 'b' is a number of 0 or more, got None"),
        ({"b": 10**400}, "of 'b' is a number of 0 or more, got 1000"),
        ({"a": 0, "b": 0}, "class_weight={'a': 0, 'b': 0} leaves no graph any weight"),
        ({"a": 0}, "all weight is on one class: there is nothing to tell apart"),
    ],
)
def test_bad_weights_of_classes(given: Any, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        of_classes(["a", "b", "b"], None, given)


def test_weights_of_classes_are_for_one_label() -> None:
    with pytest.raises(UserError, match="is for one label; for several take class_weight='bal"):
        of_classes([[0, 1], [1, 0]], None, {0: 1.0})


def test_weights_that_leave_one_class() -> None:
    one_class = "^all weight is on one class: there is nothing to tell apart$"
    for given in ([1, 1, 0], [1, 1, 1e-60]):  # in single precision the last is 0 too
        with pytest.raises(DataError, match=one_class):
            of_classes(["a", "a", "b"], given)
    with pytest.raises(UserError, match="leaves no graph any weight"):
        of_classes(["a", "b"], [1, 0], {"a": 0})
    assert of_classes(["a", "c", "b"], [1, 1, 0]).tolist() == [1.0, 1.0, 0.0]


def test_weights_that_leave_a_column_without_labels() -> None:
    nan = np.nan
    lost = r"^y, column 1 \('b'\) holds no label that has a weight; leave it out, or give"
    y = pd.DataFrame({"a": [0.0, 1.0, 1.0], "b": [nan, nan, 1.0]})
    with pytest.raises(DataError, match=lost):
        of_classes(y, [1, 1, 0])
    with pytest.raises(DataError, match=lost):
        weights([1, 1, 0], None, None, number_fields(y.to_numpy(), ("a", "b")))
    assert of_classes(y, [1, 0, 1]).tolist() == [1.0, 0.0, 1.0]
