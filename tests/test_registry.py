"""What is registered, lies in the package or is brought by another one is found by its name."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest
from other_package import an_entry_point

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


def a_package(folder: Path, name: str, **modules: str) -> None:
    """Modules by their text, as a package of that name."""
    (folder / name).mkdir()
    for module, text in {"__init__": "", **modules}.items():
        (folder / name / f"{module}.py").write_text(text, encoding="utf-8")


def test_what_lies_in_the_package_is_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In folders under it too, at the first look and not before."""
    adds = "from found_here import THINGS\nTHINGS.register({name!r})({name!r})\n"
    a_package(
        tmp_path,
        "found_here",
        __init__="from gmpool.registry import Registry\n"
        "THINGS = Registry('thing', package='found_here')\n",
        b=adds.format(name="b"),
        empty="",
    )
    a_package(tmp_path / "found_here", "a", deep=adds.format(name="a"))
    monkeypatch.syspath_prepend(tmp_path)
    things = import_module("found_here").THINGS
    assert "found_here.b" not in sys.modules
    assert list(things) == ["a", "b"]


GROUP = "gmpool.things_of_a_test"


def test_another_package_registers_by_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other_things.py").write_text("one, two = 1, 2\n", encoding="utf-8")
    an_entry_point(tmp_path, GROUP, "one = other_things:one", "second = other_things:two")
    monkeypatch.syspath_prepend(tmp_path)
    things: Registry[int] = Registry("thing", group=GROUP)
    assert {name: things[name] for name in things} == {"one": 1, "second": 2}
    assert "one" not in Registry("thing", group="gmpool.things_of_nobody")


def test_a_name_that_another_package_takes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_entry_point(tmp_path, GROUP, "one = math:pi")
    monkeypatch.syspath_prepend(tmp_path)
    things: Registry[float] = Registry("thing", group=GROUP)
    things.register("one")(1.0)
    with pytest.raises(UserError, match="thing 'one' is registered already"):
        len(things)


def test_another_package_that_cannot_be_imported_is_named_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_entry_point(tmp_path, GROUP, "one = nowhere.at_all:one")
    monkeypatch.syspath_prepend(tmp_path)
    things: Registry[int] = Registry("thing", group=GROUP)
    for _ in range(2):
        with pytest.raises(UserError, match=r"the thing 'one' .* \(nowhere.at_all:one\) cannot be"):
            list(things)
