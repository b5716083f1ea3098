from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from gmpool.plain_text import one_line, shortened, visible


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = visible(text)
    kinds = {unicodedata.category(sign) for sign in shown if sign not in "\n\t"}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set("\u202a\u202e\u2066\u2069")
    shown.encode("utf-8")
    assert visible(shown) == shown
    assert "\n" not in one_line(text)


def test_what_is_harmless_stays() -> None:
    text = "c1ccccc1 ± 3.2 % – Größe 分子\n\tnext"
    assert visible(text) == text
    assert visible("a\x1b[31mred\x9b\r") == "a\\x1b[31mred\\x9b\\r"
    assert one_line("a\nb\t") == "a\\nb\\t"


def test_a_long_value_is_cut() -> None:
    assert shortened("x" * 10, 10) == "x" * 10
    assert shortened("x" * 11, 10) == "x" * 9 + "…"
