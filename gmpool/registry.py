"""A dict and a decorator: things that a user picks by name, found where they lie."""

import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from gmpool.errors import UserError, unknown

T = TypeVar("T")
_registering: set[str] = set()
"""Modules that have registered something anywhere."""


def registered_by(module: str) -> bool:
    """Whether a module has registered something anywhere."""
    return module in _registering


class Registry(Generic[T]):
    """Names to things, in the order of their names. An unknown one raises an error that lists the
    known ones.

    kind: what a thing is called in messages.
    package: every module in it is imported at the first look, and registers what it has.
    group: so are the entry points of this group, by which other packages register theirs: each
        points to a thing, or to the module that registers it.

    >>> METHODS = Registry[type]("method")
    >>> @METHODS.register("mean")
    ... class MeanPool: ...
    >>> METHODS["mean"].__name__
    'MeanPool'
    """

    def __init__(self, kind: str, *, package: str | None = None, group: str | None = None) -> None:
        self.kind, self.package, self.group = kind, package, group
        self._items: dict[str, T] = {}
        self._looked = False

    def register(self, name: str) -> Callable[[T], T]:
        if name in self._items:
            raise self._taken(name)

        _registering.add(sys._getframe(1).f_globals.get("__name__", ""))

        def add(item: T) -> T:
            self._items[name] = item
            return item

        return add

    def _found(self) -> dict[str, T]:
        if not self._looked:
            self._looked = True  # what is imported here may look itself
            if self.package is not None:
                package = import_module(self.package)
                for module in pkgutil.walk_packages(package.__path__, f"{self.package}."):
                    import_module(module.name)
            for point in entry_points(group=self.group) if self.group else ():
                self._load(point)
        return self._items

    def _load(self, point: EntryPoint) -> None:
        try:
            thing = point.load()
        except (ImportError, AttributeError) as error:
            self._looked = False  # the next look shall not pass over it
            raise UserError(
                f"the {self.kind} {point.name!r} of another package ({point.value}) cannot be "
                f"imported: {error}; mend or remove that package"
            ) from error
        if point.attr and self._items.setdefault(point.name, thing) is not thing:
            raise self._taken(point.name)

    def _taken(self, name: str) -> UserError:
        return UserError(f"{self.kind} {name!r} is registered already")

    def __getitem__(self, name: str) -> T:
        found = self._found()
        if name not in found:
            raise unknown(self.kind, name, found)
        return found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._found()))

    def __len__(self) -> int:
        return len(self._found())
