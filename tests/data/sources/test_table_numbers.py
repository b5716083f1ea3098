from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.data.sources.table_numbers import read_numbers


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=20))
def test_numbers_read_back(values: list[float]) -> None:
    read = read_numbers([repr(value) for value in values])
    assert read.values.tolist() == values
    assert (read.wrong, read.filled) == ({}, len(values))


def test_gaps_are_no_values_and_nothing_wrong() -> None:
    read = read_numbers(["1", "", "NA", "nan", "-", " 2.5 "])
    assert np.isnan(read.values).tolist() == [False, True, True, True, True, False]
    assert (read.wrong, read.filled, read.numeric) == ({}, 2, True)


def test_a_column_of_gaps_and_a_few_numbers_is_numeric() -> None:
    assert read_numbers(["nan"] * 98 + ["0.5", "1.5"]).numeric
    assert not read_numbers(["nan"] * 5).numeric


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2"], [1.5, 2.0]),
        (["-0,125", "1,250"], [-0.125, 1.25]),
        ([",5", "1,5e3"], [0.5, 1500.0]),
    ],
)
def test_decimal_commas(cells: list[str], values: list[float]) -> None:
    read = read_numbers(cells)
    assert read.values.tolist() == values
    assert read.decimal_comma


@pytest.mark.parametrize(
    ("cells", "wrong", "reason"),
    [
        (["1,234", "56"], "1,234", "decimal or of thousands"),
        (["1,5", "2.5"], "1,5", "a column that also has points"),
        (["1", "1e39"], "1e39", "is too large"),
        (["1", "-3.4028236e38"], "-3.4028236e38", "is too large"),
        (["1", "inf"], "inf", "is too large"),
        (["1", "1_000"], "1_000", "is not a number"),
        (["1", "x"], "x", "is not a number"),
    ],
)
def test_what_cannot_be_taken(cells: list[str], wrong: str, reason: str) -> None:
    read = read_numbers([*cells, "7"])
    assert list(read.wrong) == [wrong]
    assert reason in read.wrong[wrong]
    assert math.isnan(read.values[cells.index(wrong)])
    assert (read.numeric, read.filled) == (True, 3)


def test_the_largest_number_of_single_precision_is_taken() -> None:
    largest = float(np.finfo(np.float32).max)
    assert np.isfinite(np.float32(read_numbers([repr(largest)]).values[0]))


def test_words_are_not_numeric() -> None:
    assert not read_numbers(["red", "blue", "1"]).numeric
