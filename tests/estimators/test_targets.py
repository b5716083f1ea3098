"""What y may be: classes, yes/no labels and numbers, with gaps, or a sentence on why not."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gmpool.errors import DataError, WrongType
from gmpool.estimators.targets import class_fields, columns_of, number_fields, numbers

NAN = float("nan")


def classes_of(y: Any) -> tuple[dict[str, Any], Any]:
    table, names, _ = columns_of(y, len(y))
    return class_fields(table, names)


def numbers_of(y: Any) -> dict[str, Any]:
    table, names, _ = columns_of(y, len(y))
    return number_fields(table, names)


# -- columns --------------------------------------------------------------------------------------


def test_columns_have_names() -> None:
    assert columns_of([1, 2], 2)[1:] == (("y",), True)
    assert columns_of([[1], [2]], 2)[1:] == (("y",), False)
    assert columns_of([[1, 2, 3]], 1).names == ("y0", "y1", "y2")
    assert columns_of(pd.Series([1, 2], name="logP"), 2)[1:] == (("logP",), True)
    assert columns_of(pd.Series([1, 2], name=0), 2).names == ("0",)
    assert columns_of(pd.DataFrame({"a": [1], 7: [2]}), 1)[1:] == (("a", "7"), False)
    assert columns_of(torch.zeros(2, 3), 2).table.shape == (2, 3)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "the target y is None: a label per graph"),
        ([1, 2, 3], "y has 3 rows for 2 graphs in X; each needs one"),
        ([], "y has 0 rows for 2 graphs"),
        (np.zeros((2, 1, 1)), re.escape("y must be [n] or [n, labels], got shape (2, 1, 1)")),
        (np.zeros((2, 0)), re.escape("got shape (2, 0)")),
        (torch.tensor(1.0), re.escape("got shape ()")),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "y has two columns 'a'; give each a"),
        ([[1, 2], [3]], "y has rows of different lengths"),
    ],
)
def test_bad_columns(y: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        columns_of(y, 2)


def test_labels_that_are_no_list() -> None:
    with pytest.raises(WrongType, match=r"^y has one entry for each graph, got dict$"):
        columns_of({0: 1, 1: 2}, 2)


# -- numbers --------------------------------------------------------------------------------------


def test_numbers_of_every_kind_with_gaps() -> None:
    given = np.array([[1, None], [pd.NA, 2.5], ["3", True]], object)
    np.testing.assert_array_equal(numbers(given), [[1, NAN], [NAN, 2.5], [3, 1]])
    found = numbers_of([1.5, None, 3])
    assert found["task"] == "regression"
    assert found["y"].dtype == torch.float32
    np.testing.assert_array_equal(found["y"], [[1.5], [NAN], [3]])


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([1.0, "a"], "row 1, column 0 is 'a', a str"),
        (np.array([[1.0, 2.0], [1.0, "b"]], object), "row 1, column 1 is 'b', a str"),
        ([1.0, 2j], "row 0, column 0 is \\(1\\+0j\\), a complex128"),
        ([date(2020, 1, 1), None], "row 0, column 0 is datetime.date\\(2020, 1, 1\\), a date"),
        (np.array([1, 2], "m8[s]"), "row 0, column 0 is .*, a timedelta64"),
        ([1.0, 10**400], "row 1, column 0 is 1000.*, a int"),
    ],
)
def test_what_is_no_number(y: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=f"^y must hold numbers, or NaN .*; {sentence}"):
        numbers_of(y)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([[1.0, 2.0], [3.0, -np.inf]], "y, row 1, column 1: -inf is no finite number"),
        (["1", "inf"], "y, row 1, column 0: inf is no finite number"),
        ([None, NAN], "y holds no label at all: every entry is missing"),
        (
            pd.DataFrame({"a": [1, 2], "b": [None, NAN]}),
            r"y, column 1 \('b'\) holds no label at all",
        ),
        ([1.0, -1e16], r"y, column 0 \('y'\): -1e\+16 is beyond single precision; give it in"),
        ([[0, 1e-20], [1, 2e-20]], r"y, column 1 \('y1'\): a deviation of 5e-21 is beyond single"),
        (
            [1e9, 1e9 + 1],
            ".*numbers around 1e\\+09 that differ by 0.5 are not .*subtract their mean",
        ),
    ],
)
def test_numbers_that_cannot_be_learned(y: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=f"^{sentence}"):
        numbers_of(y)


@pytest.mark.parametrize("y", [[1e14, -1e14], [1e-14, 3e-14], [1e9, 1e9], [0.1] * 3, [0.0, 0.0]])
def test_numbers_within_single_precision(y: list[float]) -> None:
    torch.testing.assert_close(numbers_of(y)["y"].flatten(), torch.tensor(y))


# -- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "name"),
    [
        ([1, 0, 1], [0, 1], "y"),
        ([True, False, True], [False, True], "y"),
        ([1.0, 0.0, 1.0], [0.0, 1.0], "y"),
        (["yes", "no", "yes"], ["no", "yes"], "y=yes"),
        ([5.0, -2.0, 5.0], [-2.0, 5.0], "y=5"),
        (pd.Series([1, 0, 1], dtype="Int64", name="toxic"), [0, 1], "toxic"),
        (pd.Series(["b", "a", "b"], dtype="category", name="k"), ["a", "b"], "k=b"),
        (np.array(["b", "a", "b"], object), ["a", "b"], "y=b"),
        (np.array([2, 1.0, np.int8(2)], object), [1, 2], "y=2"),
        (np.array([[1], [0], [1]]), [0, 1], "y"),
    ],
)
def test_two_classes_are_no_and_yes(y: Any, classes: list[Any], name: str) -> None:
    fields, found = classes_of(y)
    assert found.tolist() == classes
    assert found.dtype != object
    assert (fields["task"], fields["task_names"]) == ("binary", (name,))
    assert fields["y"].tolist() == [[1.0], [0.0], [1.0]]


def test_more_classes_are_numbered_in_order() -> None:
    fields, classes = classes_of(["c", "a", "b", "c"])
    assert (fields["task"], fields["class_names"]) == ("multiclass", ("a", "b", "c"))
    assert fields["y"].tolist() == [2, 0, 1, 2]
    assert classes.tolist() == ["a", "b", "c"]
    fields, classes = classes_of([2.0, 0.0, 1.0])
    assert fields["class_names"] == ("0", "1", "2")
    assert classes.tolist() == [0.0, 1.0, 2.0]


def test_classes_of_long_numbers_have_names_of_their_own() -> None:
    fields, _ = classes_of([20200101.0, 20200102.0, 20200103.0])
    assert fields["class_names"] == ("20200101", "20200102", "20200103")


def test_several_columns_are_yes_or_no_each() -> None:
    y = pd.DataFrame({"a": [0, 1, None], "b": [True, False, True]})
    fields, classes = classes_of(y)
    assert (fields["task"], fields["task_names"]) == ("binary", ("a", "b"))
    np.testing.assert_array_equal(fields["y"], [[0, 1], [1, 0], [NAN, 1]])
    assert [each.tolist() for each in classes] == [[0, 1], [0, 1]]


def of_objects(*values: Any) -> Any:
    made = np.empty(len(values), object)
    made[:] = values
    return made


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (
            [[0, 1], [1, 2]],
            "y, row 1, column 1: 2 is not 0, 1 or missing; several columns are yes/no",
        ),
        ([[0, 0.5], [1, 1]], "y, row 0, column 1: 0.5 is not 0, 1 or missing"),
        ([["a", "b"], ["b", "a"]], "y must hold numbers.* row 0, column 0 is 'a', a str"),
        (
            pd.DataFrame({"a": [0, 1], "b": [NAN, NAN]}),
            r"y, column 1 \('b'\) holds no label at all",
        ),
        ([1, None, 0], "y, row 1: no class; each graph needs one"),
        (["a", "b", pd.NA], "y, row 2: no class"),
        ([0.0, NAN, 1.0], "y, row 1: no class"),
        (["a", 1, "b"], "y mixes classes that cannot be ordered: int and str; make them words all"),
        (of_objects(1, date(2020, 1, 1)), "y mixes classes that cannot be ordered: .*'<'"),
        (of_objects((1, 2), (3, 4)), r"y, row 0: \(1, 2\) is no class; give words or numbers"),
        (of_objects({1}, {2}), r"y, row 0: \{1\} is no class"),
        (of_objects(1, {2: 3}), r"y, row 1: \{2: 3\} is no class"),
        (
            [1.0, 2.5, 3.0],
            "Unknown label type: continuous. y holds numbers such as 2.5, .*GraphReg",
        ),
        (of_objects(1, 2.5, 3), "Unknown label type: continuous. y holds numbers such as 2.5,"),
        ([-np.inf, 0.0, 1.0], "y holds -inf, which is no class"),
        ([0.0, np.inf], "y holds inf, which is no class"),
        ([0.0, 1.0, 2j], "y holds 2j, which is no class"),
        ([7, 7, 7], "y has one class only, 7: there is nothing to tell apart"),
        (["a"], "y has one class only, 'a'"),
    ],
)
def test_what_is_no_class(y: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=f"^{sentence}"):
        classes_of(y)
