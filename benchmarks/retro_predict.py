"""Predictions for products of USPTO-50k by one model, as `gmpool retro predict` makes them.

all of it           a product after the other, in one process, networks with all threads
running templates   of that: matching centers and running templates, by RDKit and rdchiral
the rest            of that: graphs, networks and the order
a process per core  all of it, with templates run by as many processes as there are cores

Times are seconds of one product. The weights are random: time does not depend on them, but for how
many templates have to be tried.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import alone, row
from gmpool.engine.executors.processes import usable_cores
from gmpool.tasks.retrosynthesis.candidates import Finder
from gmpool.tasks.retrosynthesis.chemist import Chemistry, Made
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.predict import Predictor
from gmpool.tasks.retrosynthesis.settings import GLNConfig
from gmpool.tasks.task import TASKS

PRODUCTS, BY_ALL = 200, 20
METHOD = "gmpool"


class Timed:
    """Counts the seconds that a chemistry takes."""

    def __init__(self, inner: Chemistry) -> None:
        self.inner, self.seconds = inner, 0.0

    def match(self, products: Sequence[str]) -> list[list[int]]:
        begin = time.perf_counter()
        found = self.inner.match(products)
        self.seconds += time.perf_counter() - begin
        return found

    def run(
        self, products: Sequence[str], templates: Sequence[Sequence[int]], enough: int
    ) -> list[Made]:
        begin = time.perf_counter()
        found = self.inner.run(products, templates, enough)
        self.seconds += time.perf_counter() - begin
        return found


def measure(root: Path | None = None) -> Iterator[dict[str, Any]]:
    yield from of_set(TASKS["retrosynthesis"].open("USPTO-50k", root), PRODUCTS, BY_ALL)


def of_set(
    reactions: Reactions, products: int, by_all: int, workers: int | None = None
) -> Iterator[dict[str, Any]]:
    """Of so many products of the test part. by_all: of how many all templates are run."""
    torch.manual_seed(0)
    model = TASKS["retrosynthesis"].build(reactions, GLNConfig(method=METHOD))
    assert isinstance(model, GLN)
    listed = _test_products(reactions, products)
    facts: dict[str, Any] = {"products": len(listed), "threads": torch.get_num_threads()}

    begin = time.perf_counter()
    predictor = Predictor(model)
    yield alone("vectors of all centers and templates", time.perf_counter() - begin, "s", **facts)

    predictor.predict_many(listed[:4])  # templates are read when they are first run
    timed = Timed(predictor.chemistry)
    predictor.chemistry = timed
    begin = time.perf_counter()
    predictor.predict_many(listed)
    total = (time.perf_counter() - begin) / len(listed)
    chemistry = timed.seconds / len(listed)
    predictor.chemistry = timed.inner
    for name, seconds in (
        ("all of it", total),
        ("running templates", chemistry),
        ("the rest", total - chemistry),
    ):
        yield alone(f"a product: {name}", seconds, "s", a_second=1 / seconds, **facts)

    find = Finder(predictor.library)
    some = listed[:by_all]
    find(some[0])
    begin = time.perf_counter()
    for product in some:
        find(product)
    every = (time.perf_counter() - begin) / len(some)
    yield row("a product: all of it vs running all its templates", total, every, "s", **facts)

    count = usable_cores() if workers is None else workers
    with predictor.in_processes(count):
        predictor.predict_many(listed[: 4 * count])
        begin = time.perf_counter()
        predictor.predict_many(listed)
        several = (time.perf_counter() - begin) / len(listed)
    facts |= {"workers": count, "a_second": 1 / several}
    yield row("a product: a process per core vs one", several, total, "s", **facts)


def _test_products(reactions: Reactions, count: int) -> list[str]:
    arrays, smiles = reactions.prepared.arrays, reactions.prepared.smiles
    of_reaction = arrays["reactions.product"][reactions.split.test.numpy()]
    listed = dict.fromkeys(smiles[number] for number in arrays["products.molecule"][of_reaction])
    return list(listed)[:count]
