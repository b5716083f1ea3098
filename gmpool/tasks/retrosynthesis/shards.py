"""Candidates of many products, found by all cores, in files that a later try finds again.

A folder holds `plan.json`, which says of which templates and products it is, and a file for each
SHARD products. A file is whole or not there, so that whoever is stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from gmpool.atomic_files import write_atomically
from gmpool.errors import DataError, UserError
from gmpool.tasks.retrosynthesis.candidates import SECONDS, Candidates, Finder
from gmpool.tasks.retrosynthesis.chemistry import TooSlow
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.worker_process import WorkerPool

VERSION = 1
SHARD = 128
_PRESET = 6  # of xz


class Shards:
    """The candidates of these products, in order; each product once."""

    def __init__(
        self,
        folder: Path,
        library: TemplateLibrary,
        products: Sequence[str],
        *,
        size: int = SHARD,
    ) -> None:
        self.folder, self.library, self.products, self.size = folder, library, products, size
        self.count = -(-len(products) // size)
        self._begin()

    def _begin(self) -> None:
        """Raises for a folder with candidates of other templates or products."""
        plan = {
            "version": VERSION,
            "templates": self.library.digest,
            "products": hashlib.sha256("\n".join(self.products).encode()).hexdigest(),
            "shard": self.size,
        }
        path = self.folder / "plan.json"
        if not path.exists():
            write_atomically({path: json.dumps(plan, indent=1).encode()})
            return
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found != plan:
            raise DataError(
                f"{self.folder}: holds candidates of other templates or products; give another "
                f"folder, or delete this one"
            )

    def path(self, shard: int) -> Path:
        return self.folder / f"{shard:05d}.jsonl.xz"

    def part(self, shard: int) -> Sequence[str]:
        return self.products[shard * self.size : (shard + 1) * self.size]

    @property
    def left(self) -> list[int]:
        """Those that are not there yet."""
        return [shard for shard in range(self.count) if not self.path(shard).exists()]

    def make(
        self,
        workers: int = 1,
        seconds: float = SECONDS,
        done: Callable[[int], None] = lambda products: None,
        *,
        own_process: bool = False,
    ) -> None:
        """Find what is left. done: is told how many products more are done. own_process: let one
        worker too be a process of its own."""
        left = self.left
        if (workers == 1 or len(left) < 2) and not own_process:
            find = Finder(self.library)
            for shard in left:
                self._write(shard, _lines(find, self.part(shard), seconds))
                done(len(self.part(shard)))
            return
        arguments = ((self.part(shard), seconds) for shard in left)
        with processes(workers, _begin_worker, self.library.to_json()) as pool:
            for at, text in as_completed(pool, _work, arguments, workers + 2):
                self._write(left[at], text)
                done(len(self.part(left[at])))

    def _write(self, shard: int, text: str) -> None:
        packed = lzma.compress(text.encode(), preset=_PRESET)
        write_atomically({self.path(shard): packed})

    def __iter__(self) -> Iterator[Candidates | None]:
        """Of each product; None: it took too long."""
        for shard in range(self.count):
            path = self.path(shard)
            try:
                lines = lzma.decompress(path.read_bytes()).decode().splitlines()
                found = [_from_line(line) for line in lines]
            except FileNotFoundError as error:
                raise DataError(f"{path}: is missing; prepare once more to make it") from error
            except (lzma.LZMAError, ValueError, KeyError, TypeError, EOFError) as error:
                raise DataError(
                    f"{path}: is damaged ({error}); delete it, and prepare once more"
                ) from error
            if len(found) != len(self.part(shard)):
                raise DataError(f"{path}: is cut off; delete it, and prepare once more")
            yield from found


def _lines(find: Finder, products: Sequence[str], seconds: float) -> str:
    return "".join(_line(find, product, seconds) + "\n" for product in products)


def _line(find: Finder, product: str, seconds: float) -> str:
    try:
        found = find(product, seconds)
    except TooSlow:
        return "null"
    outcomes = [".".join(outcome) for outcome in found.outcomes]
    values = {"centers": found.centers, "runs": found.runs, "outcomes": outcomes}
    return json.dumps(values, separators=(",", ":"))


def _from_line(line: str) -> Candidates | None:
    values = json.loads(line)
    if values is None:
        return None
    outcomes = [tuple(text.split(".")) for text in values["outcomes"]]
    runs = [(int(template), list(made)) for template, made in values["runs"]]
    return Candidates(values["centers"], runs, outcomes)


# -- processes ------------------------------------------------------------------------------------

_find: Finder
"""In a worker: its own."""


def _begin_worker(library: Any) -> None:
    global _find
    _find = Finder(TemplateLibrary.from_json(library))


def _work(products: Sequence[str], seconds: float) -> str:
    return _lines(_find, products, seconds)


@contextmanager
def processes(
    workers: int, begin: Callable[..., None] | None = None, *given: Any
) -> Iterator[WorkerPool]:
    """A pool that is gone at the end, whatever happens."""
    pool = WorkerPool(workers, __name__, begin, *given)
    before = set(multiprocessing.active_children())
    try:
        yield pool
    except BrokenProcessPool as error:
        raise UserError(
            "a worker process ended before its work was done, for want of memory perhaps; what is "
            "prepared stays: go on with fewer --workers"
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()


def as_completed(
    pool: WorkerPool, do: Callable[..., Any], arguments: Iterator[Any], ahead: int
) -> Iterator[tuple[int, Any]]:
    """(number, result) of each, as they come; so many are asked for ahead of what is done."""
    running: dict[Future[Any], int] = {}
    numbered = enumerate(arguments)
    for at, given in islice(numbered, ahead):
        running[pool.submit(do, *given)] = at
    while running:
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            number = running.pop(future)
            for at, given in islice(numbered, 1):
                running[pool.submit(do, *given)] = at
            yield number, future.result()
