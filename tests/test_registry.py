from __future__ import annotations

import pytest

from gmpool.errors import UserError
from gmpool.registry import Registry


def test_what_is_registered_is_found_by_name() -> None:
    things: Registry[type] = Registry("thing")

    @things.register("one")
    class One: ...

    assert things["one"] is One
    assert (list(things), len(things)) == (["one"], 1)
    assert "one" in things
    assert "two" not in things


def test_an_unknown_name_lists_the_known_ones_and_guesses() -> None:
    things: Registry[int] = Registry("thing")
    things.register("mean")(1)
    things.register("gmt")(2)
    with pytest.raises(UserError) as error:
        things["meen"]
    text = "unknown thing 'meen'; did you mean 'mean'? (known: gmt, mean)"
    assert str(error.value) == text
    with pytest.raises(UserError, match=r"unknown thing 'xyz' \(known: gmt, mean\)"):
        things["xyz"]


def test_an_empty_registry_says_so() -> None:
    with pytest.raises(UserError, match=r"\(known: none\)"):
        Registry("thing")["x"]


def test_a_name_is_given_once() -> None:
    things: Registry[int] = Registry("thing")
    things.register("a")(1)
    with pytest.raises(ValueError, match="thing 'a' is registered already"):
        things.register("a")
    assert things["a"] == 1
