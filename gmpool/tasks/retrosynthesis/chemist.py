"""Matches the centers of a library and runs its templates, in this process or in several."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple, Protocol

from gmpool.tasks.retrosynthesis.chemistry import Matcher, Product, Reactor
from gmpool.tasks.retrosynthesis.library import TemplateLibrary


class Made(NamedTuple):
    """Outcomes, each with the template that made it, in the order they were tried."""

    templates: list[int]
    outcomes: list[tuple[str, ...]]


class Chemistry(Protocol):
    def match(self, products: Sequence[str]) -> list[list[int]]:
        """The centers that each product has."""

    def run(
        self, products: Sequence[str], templates: Sequence[Sequence[int]], enough: int
    ) -> list[Made]:
        """The templates of each product, in order, until so many of them have made something."""


class Chemist:
    """Does it here."""

    def __init__(self, library: TemplateLibrary) -> None:
        self._match = Matcher(library.centers)
        self._reactor = Reactor(library.templates)

    def match(self, products: Sequence[str]) -> list[list[int]]:
        return [self._match(product) for product in products]

    def run(
        self, products: Sequence[str], templates: Sequence[Sequence[int]], enough: int
    ) -> list[Made]:
        pairs = zip(products, templates, strict=True)
        return [self._run(product, listed, enough) for product, listed in pairs]

    def _run(self, product: str, templates: Sequence[int], enough: int) -> Made:
        taken, made, successes = Product(product), Made([], []), 0
        for template in templates:
            outcomes = self._reactor.run(template, taken)
            made.templates.extend([template] * len(outcomes))
            made.outcomes.extend(outcomes)
            successes += bool(outcomes)
            if successes == enough:
                break
        return made


class Chemists:
    """Has it done by processes that began with `begin_chemist`, product by product."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    def match(self, products: Sequence[str]) -> list[list[int]]:
        return list(self._pool.map(_match, products))

    def run(
        self, products: Sequence[str], templates: Sequence[Sequence[int]], enough: int
    ) -> list[Made]:
        return list(self._pool.map(_run, products, templates, [enough] * len(products)))


_own: Chemist
"""In a worker."""


def begin_chemist(library: Any) -> None:
    """library: as JSON"""
    global _own
    _own = Chemist(TemplateLibrary.from_json(library))


def _match(product: str) -> list[int]:
    return _own.match([product])[0]


def _run(product: str, templates: Sequence[int], enough: int) -> Made:
    return _own.run([product], [templates], enough)[0]
