"""Labels and weights as arrays: nothing is taken for something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from gmpool.errors import DataError, WrongType
from gmpool.estimators.columns import array_of, gaps, is_gap, plain


def test_words_stay_words_and_gaps_stay_gaps() -> None:
    assert array_of(["a", "b"], "y").dtype.kind == "U"
    assert array_of(["1", "2"], "y").tolist() == ["1", "2"]
    for mixed in (["a", None, "b"], ["a", 1], ["a", 1.5, True], [["a", None], ["b", 2]]):
        found = array_of(mixed, "y")
        assert found.dtype == object
        assert found.tolist() == mixed
    assert gaps(array_of(["a", None, np.nan, "nan"], "y")).tolist() == [False, True, True, False]
    assert array_of([1, None, 2.5], "y").tolist() == [1, None, 2.5]


def test_an_array_of_words_stays_as_it_is() -> None:
    given = np.array(["None", "a"])
    assert array_of(given, "y") is given


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (torch.tensor([1, 0]), [1, 0]),
        (torch.tensor([True, False]), [True, False]),
        (torch.tensor([0.5, 2.0], requires_grad=True), [0.5, 2.0]),
        (torch.tensor([0.5, 2.0], dtype=torch.bfloat16), [0.5, 2.0]),
        (torch.eye(2).to_sparse(), [[1.0, 0.0], [0.0, 1.0]]),
        ([torch.tensor(1.0, requires_grad=True), torch.tensor(2)], [1.0, 2.0]),
        ((torch.tensor([1.5], dtype=torch.bfloat16), torch.tensor([2.5])), [[1.5], [2.5]]),
        ([torch.tensor(1.0), None], [1.0, None]),
        (scipy.sparse.csr_array(np.eye(2)), [[1.0, 0.0], [0.0, 1.0]]),
        (scipy.sparse.coo_matrix(np.eye(2)), [[1.0, 0.0], [0.0, 1.0]]),
        ((2 * i for i in range(3)), [0, 2, 4]),
        (iter(["a", "b"]), ["a", "b"]),
        (range(3), [0, 1, 2]),
        ((1.0, 2.0), [1.0, 2.0]),
        (pd.Series([1, 0], dtype="Int64"), [1, 0]),
        (pd.Categorical(["b", "a"]), ["b", "a"]),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), [[1, 3], [2, 4]]),
    ],
)
def test_whatever_holds_it(given: Any, expected: list[Any]) -> None:
    found = array_of(given, "y")
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected


def test_gaps_of_pandas() -> None:
    words = array_of(pd.Series(["a", None, "b"], dtype="string"), "y")
    assert gaps(words).tolist() == [False, True, False]
    numbers = array_of(pd.Series([1, None], dtype="Int64"), "y")
    assert gaps(numbers).tolist() == [False, True]
    mixed = array_of(pd.Series([pd.NA, pd.NaT, None, 0, "", False], dtype=object), "y")
    assert gaps(mixed).tolist() == [True, True, True, False, False, False]
    times = array_of(pd.Series(pd.to_datetime(["2020-01-01", None])), "y")
    assert gaps(times).tolist() == [False, True]
    assert gaps(array_of([1, pd.NA], "y")).tolist() == [False, True]


def test_gaps_have_the_shape_of_their_table() -> None:
    assert not gaps(np.zeros((2, 3), int)).any()
    table = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert (
        gaps(table).tolist()
        == gaps(table.astype(object)).tolist()
        == [[False, True], [True, False]]
    )
    assert not gaps(np.array(["nan", ""])).any()


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_is_a_gap(value: Any) -> None:
    assert is_gap(value)


@pytest.mark.parametrize(
    "value", [0, 0.0, False, "", "nan", np.inf, (), np.int64(0), [float("nan")]]
)
def test_is_no_gap(value: Any) -> None:
    assert not is_gap(value)


def test_plain_numbers() -> None:
    for value in (np.int64(3), np.float32(3), np.bool_(True), np.str_("a")):
        assert not isinstance(plain(value), np.generic)
        assert plain(value) == value
    assert plain(pd) is pd


@pytest.mark.parametrize("given", ["abc", b"abc", {"a": 1}, {1, 2}, frozenset([1]), 3, 2.5, object])
def test_what_has_no_entry_for_each_graph(given: Any) -> None:
    with pytest.raises(WrongType, match=f"^weight has one entry .*, got {type(given).__name__}$"):
        array_of(given, "weight")


@pytest.mark.parametrize(
    "given", [[[1, 2], [3]], [["a", "b"], ["c"]], [torch.ones(2), torch.ones(3)]]
)
def test_rows_of_different_lengths(given: Any) -> None:
    with pytest.raises(DataError, match=r"^y has rows of different lengths; give each as many$"):
        array_of(given, "y")
