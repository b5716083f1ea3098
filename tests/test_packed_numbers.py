from __future__ import annotations

import base64
import contextlib
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.packed_numbers import pack_numbers, unpack_numbers


@given(st.lists(st.floats(width=32), max_size=30))
def test_there_and_back(values: list[float]) -> None:
    text = pack_numbers(np.array(values), "<f4")
    assert np.array_equal(unpack_numbers(text, "<f4", 30), np.array(values), equal_nan=True)


@given(st.text(max_size=20) | st.binary(max_size=20).map(lambda b: base64.b64encode(b).decode()))
def test_any_text_is_numbers_or_an_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert len(unpack_numbers(text, "<u1", 5)) <= 5


@pytest.mark.parametrize("text", [None, 3, b"eJwDAAAAAAE=", ["x"]])
def test_what_is_no_text(text: object) -> None:
    with pytest.raises(ValueError, match="expected text"):
        unpack_numbers(text, "<u1", 5)


def test_a_text_that_would_fill_the_memory_is_not_unpacked() -> None:
    huge = base64.b64encode(zlib.compress(bytes(10**7))).decode()
    with pytest.raises(ValueError, match="more than 4,000 numbers"):
        unpack_numbers(huge, "<f4", 4000)


def test_a_text_that_is_cut() -> None:
    text = pack_numbers(np.arange(9), "<u1")
    for cut in (text[:-4], base64.b64encode(zlib.compress(b"123")).decode()):
        with pytest.raises(ValueError, match="does not end where it should"):
            unpack_numbers(cut, "<f4", 9)
