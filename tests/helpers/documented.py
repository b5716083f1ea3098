"""Constructor arguments against the lines `name: meaning` of a class's docstring."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from types import ModuleType

from torch import nn


def modules_of(*packages: ModuleType) -> list[type[nn.Module]]:
    """The public torch modules that are defined in the packages, by name."""
    found = []
    for package in packages:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, thing in vars(importlib.import_module(module.name)).items():
                mine = inspect.isclass(thing) and thing.__module__ == module.name
                if mine and issubclass(thing, nn.Module) and not name.startswith("_"):
                    found.append(thing)
    return sorted(found, key=lambda cls: cls.__name__)


def arguments(cls: type) -> set[str]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(cls).parameters.values()
    return {p.name for p in parameters if p.kind not in kinds}


def documented(cls: type) -> set[str]:
    """The names before the colon of every line after the first that begins with such."""
    _, _, text = inspect.cleandoc(vars(cls).get("__doc__") or "").partition("\n")
    lines = re.findall(r"^(\w+(?:, \w+)*): ", text, re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def undocumented(cls: type) -> set[str]:
    """Arguments that neither the class nor what it derives from documents."""
    return arguments(cls) - {name for base in cls.__mro__ for name in documented(base)}


def unheard_of(cls: type) -> set[str]:
    """What the docstring documents and the constructor does not take."""
    takes_any = "__init__" not in vars(cls)  # what its subclasses have in common
    return set() if takes_any else documented(cls) - arguments(cls)
