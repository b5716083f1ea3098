from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.errors import UserError
from gmpool.options import at_most, coerce, parse_value, settings_from

NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400)])


@given(st.sampled_from(["int", "float", "int | None", "bool", "str"]), NUMBERS | st.text())
def test_a_value_fits_or_is_an_error(hint: str, value: object) -> None:
    with suppress(UserError):  # nothing else may be raised
        found = coerce(hint, "key", value)
        assert found is None or type(found).__name__ == hint.removesuffix(" | None")
        assert found not in (math.inf, -math.inf)


@pytest.mark.parametrize("hint", ["int", "float"])
def test_a_number_of_any_length(hint: str) -> None:
    with pytest.raises(UserError, match=r"option key must lie within .* got one of 16610 bits"):
        coerce(hint, "key", 10**5000)


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000, "1e400", "0x10", "", "1_0"])
def test_any_text_is_a_value(text: str) -> None:
    parse_value(text)


def test_bounds_say_the_way_out() -> None:
    at_most(("hidden_dim", 5, 5))
    with pytest.raises(UserError, match="option hidden_dim must be at most 5, got 6,000"):
        at_most(("hidden_dim", 6000, 5))
    with pytest.raises(UserError, match="option lr must be finite, got inf"):
        coerce("float", "lr", "1e400")


def test_what_is_no_setting_is_not_repeated_at_length() -> None:
    with pytest.raises(UserError) as error:
        settings_from(["x" * 5000])
    assert len(str(error.value)) < 300
