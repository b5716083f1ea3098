"""Candidates of USPTO-50k's products found by one process, two, and one for each core: products a
second, from the start of the processes to the last file."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.timing import row, where
from gmpool.engine.executors.processes import usable_cores
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.reactions import read_chunk, read_rows, source_path
from gmpool.tasks.retrosynthesis.shards import Shards

PRODUCTS = 96
"""For each process."""
SIZE = 12
"""Of a file: small, so that none waits long for the last one."""


def measure(root: Path | None = None, products: int = PRODUCTS) -> Iterator[dict[str, Any]]:
    table, rows = read_rows(source_path("USPTO-50k", root)[1])
    parts = table.column(table.position("split"))
    library = TemplateLibrary.of(
        (r.group, r.template) for r, part in zip(rows, parts, strict=True) if part == "train"
    )
    counts = sorted({1, 2, usable_cores()})
    some = list(_products(rows[:: len(rows) // (2 * products * counts[-1])]))
    rates = {
        workers: _rate(library, list(islice(some, products * workers)), workers)
        for workers in counts
    }
    for workers in counts[1:]:
        per = {w: 1 / rates[w] for w in (1, workers)}
        name = f"candidates of products: {workers} processes vs one"
        yield row(name, per[workers], per[1], "s a product", workers=workers, **where("cpu"))


def _products(rows: list[Any]) -> Iterator[str]:
    for reaction in read_chunk(rows):
        assert not isinstance(reaction, str)
        yield reaction.product


def _rate(library: TemplateLibrary, products: list[str], workers: int) -> float:
    """Products a second."""
    with tempfile.TemporaryDirectory() as folder:
        shards = Shards(Path(folder), library, products, size=SIZE)
        start = time.perf_counter()
        # One process too is one of its own, so that all have the same to begin with.
        shards.make(workers, own_process=True)
        return len(products) / (time.perf_counter() - start)
