"""Every registered method keeps every law of the contract. Registering a method tests it."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import pytest
from contract import LAWS

import gmpool.pool
from gmpool.pool import METHODS
from gmpool.pool.method import Method


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", METHODS)
def test_it_keeps_the_law(name: str, law: str) -> None:
    LAWS[law](name)


def test_every_method_that_lies_in_the_folder_is_registered() -> None:
    lying = set()
    for module in pkgutil.walk_packages(gmpool.pool.__path__, "gmpool.pool."):
        for thing in vars(import_module(module.name)).values():
            if inspect.isclass(thing) and issubclass(thing, Method) and thing is not Method:
                lying.add(thing)
    ours = {METHODS[name] for name in METHODS}
    assert len(lying) >= 17
    assert lying <= ours
