from __future__ import annotations

import io

import numpy as np
import pytest

from gmpool.data.sources import number_lines
from gmpool.data.sources.number_lines import read_numbers
from gmpool.errors import DataError


@pytest.mark.parametrize("block", [1, 7, 1 << 24])
def test_blocks_do_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_lines, "_BLOCK", block)
    text = b"1, 2\n30, -4\r\n5,6\n"
    found = read_numbers(io.BytesIO(text), "here", np.int32)
    assert found.dtype == np.int32
    assert found.tolist() == [[1, 2], [30, -4], [5, 6]]
    last = read_numbers(io.BytesIO(b"0.5\n1e3"), "here", np.float32, columns=1)
    assert last.tolist() == [[0.5], [1000.0]]
    with pytest.raises(DataError, match="here:3: 'x' is not a whole number"):
        read_numbers(io.BytesIO(b"1\n2\nx\n"), "here", np.int64)
    with pytest.raises(DataError, match="here:2: 1 values, expected 2"):
        read_numbers(io.BytesIO(b"1, 2\n3\n4, 5\n"), "here", np.int64)


@pytest.mark.parametrize("text", [b"", b"\n", b"  \n\n"])
def test_an_empty_file(text: bytes) -> None:
    with pytest.raises(DataError, match="here: the file is empty"):
        read_numbers(io.BytesIO(text), "here", np.int64)


@pytest.mark.parametrize(
    ("dtype", "text", "message"),
    [
        (np.int64, b"1\n9223372036854775808\n", "2: '9223372036854775808' is beyond the range"),
        (np.int64, b"-" + b"9" * 5000, "1: '-9{39}…' is beyond the range of int64"),
        (np.int32, b"1\n2\n-2147483649", "3: '-2147483649' is beyond the range of int32"),
        (np.int64, b"1_0\n", "1: '1_0' is not a whole number"),
        (np.int64, "1\n٣\n".encode(), "2: '٣' is not a whole number"),
        (np.int64, b"1\n\xff\n", "2: '\ufffd' is not a whole number"),
        (np.int64, b"1\n1\x002\n", r"2: '1\\x002' is not a whole number"),
        (np.int64, b"1, 2\n3\n4, 5, 6\n", "2: 1 values, expected 2"),
        (np.int64, b"1\n\n2\n", "2: the line is blank"),
        (np.int64, b"1,\n2,\n", "1: '' is not a whole number"),
        (np.int64, b"1 2\n", "1: '1 2' is not a whole number"),
        (np.int64, b"1.0\n", "1: '1.0' is not a whole number"),
        (np.float32, b"1\n3.5e38\n", "2: '3.5e38' is beyond the range of float32"),
        (np.float32, b"1e999\n", "1: '1e999' is beyond the range of float32"),
        (np.float32, b"1, 2\n-inf, 0\n", "2: '-inf' is not a finite number"),
        (np.float32, b"1\nNaN\n", "2: 'NaN' is not a finite number"),
        (np.float32, b"1\n1e\n", "2: '1e' is not a number"),
        (np.float32, b"1_0.5\n", "1: '1_0.5' is not a number"),
    ],
)
def test_what_is_no_number_of_that_type_is_named(
    dtype: type[np.generic], text: bytes, message: str
) -> None:
    with pytest.raises(DataError, match=f"^here:{message}"):
        read_numbers(io.BytesIO(text), "here", dtype)


def test_the_last_numbers_that_fit() -> None:
    assert read_numbers(io.BytesIO(b"2147483646"), "here", np.int32).item() == 2147483646
    assert read_numbers(io.BytesIO(b"-3.4e38"), "here", np.float32).item() == np.float32(-3.4e38)
