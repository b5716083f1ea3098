"""A dict and a decorator: things that a user picks by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from gmpool.errors import unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to things. An unknown name raises an error that lists the known ones.

    >>> METHODS = Registry[type]("method")
    >>> @METHODS.register("mean")
    ... class MeanPool: ...
    >>> METHODS["mean"].__name__
    'MeanPool'
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        if name in self._items:
            raise ValueError(f"{self.kind} {name!r} is registered already")

        def add(item: T) -> T:
            self._items[name] = item
            return item

        return add

    def __getitem__(self, name: str) -> T:
        if name not in self._items:
            raise unknown(self.kind, name, self._items)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
