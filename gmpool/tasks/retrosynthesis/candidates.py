"""What the templates make of one product."""

from __future__ import annotations

from typing import NamedTuple

from gmpool.tasks.retrosynthesis.chemistry import Clock, Matcher, Product, Reactor
from gmpool.tasks.retrosynthesis.library import TemplateLibrary

SECONDS = 60.0
"""That a product may take; one that takes longer has no candidates, and is listed."""


class Candidates(NamedTuple):
    """centers: those that match. runs: (template, numbers of its outcomes) of each template that
    made something, in the order of templates. outcomes: distinct sets of molecules."""

    centers: list[int]
    runs: list[tuple[int, list[int]]]
    outcomes: list[tuple[str, ...]]


class Finder:
    """Finds the candidates of products among the templates of a library."""

    def __init__(self, library: TemplateLibrary) -> None:
        self.library = library
        self.match = Matcher(library.centers)
        self.reactor = Reactor(library.templates)

    def __call__(self, product: str, seconds: float = SECONDS) -> Candidates:
        """All of them. product: canonical. Raises TooSlow."""
        clock = Clock(seconds)
        centers = self.match(product)
        templates = sorted(t for center in centers for t in self.library.templates_of[center])
        taken = Product(product)
        numbers: dict[tuple[str, ...], int] = {}
        runs = []
        for template in templates:
            clock.check()
            made = [numbers.setdefault(o, len(numbers)) for o in self.reactor.run(template, taken)]
            if made:
                runs.append((template, made))
        return Candidates(centers, runs, list(numbers))
