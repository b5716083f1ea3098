from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.spreadsheet import safe_cell


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "=HYPERLINK(1)",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "-COOH",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        "-1e5x",
        "＝1+1",
        "-1\n",
    ],
)
def test_what_a_spreadsheet_would_run_gets_an_apostrophe(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text",
    [
        *("", "C", "-3.2", "+5", "-.5", "-3,2", "-1,234.5", "-1e-05", "+1E5", "-inf", "-nan"),
        *("-5%", "-", "--", "+", "=", "[Na+]", "(C)C", "'=1", "a=1", " =1"),
    ],
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text


@given(st.floats())
def test_every_number_stays_a_number(value: float) -> None:
    for text in (f"{value:.6g}", repr(value), f"{value:+.3f}"):
        assert safe_cell(text) == text


@given(st.text())
def test_twice_is_once(text: str) -> None:
    assert safe_cell(safe_cell(text)) == safe_cell(text)
    assert safe_cell(text).removeprefix("'") == text.removeprefix("'")
