from __future__ import annotations

import io

import numpy as np
import pytest

from gmpool.data.sources import number_columns
from gmpool.data.sources.number_columns import read_numbers
from gmpool.errors import DataError


@pytest.mark.parametrize("block", [1, 7, 1 << 24])
def test_blocks_do_not_matter(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_columns, "_BLOCK", block)
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
