"""Scoring beside the training: the next steps do not wait for what chemists say of the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import TracebackType
from typing import NamedTuple

import numpy as np

from gmpool.errors import UserError
from gmpool.tasks.generate.scores import DrawScorer, DrawScores
from gmpool.worker_process import WorkerPool


class Scored(NamedTuple):
    scores: DrawScores
    smiles: list[str]
    """Of the first valid draws."""


class Scoring:
    """Scores in so many processes of its own; with 0 workers at once, in this one."""

    def __init__(self, scorer: DrawScorer, workers: int) -> None:
        self._scorer = scorer
        self._pool = WorkerPool(workers, __name__, _begin, scorer) if workers else None

    def submit(self, rows: np.ndarray, shown: int) -> Callable[[], Scored]:
        """rows: uint8 [M, width]. shown: how many SMILES are asked for. Whoever calls what is
        returned waits for the scores, and hears of what went wrong."""
        if self._pool is None:
            scored = _scored(self._scorer, rows, shown)
            return lambda: scored
        self._scorer.check(rows)
        with _mended():
            future = self._pool.submit(_score, rows.tobytes(), shown)

        def result() -> Scored:
            with _mended():
                return future.result()

        return result

    def close(self) -> None:
        """Ends the workers; what they have not begun is not done."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Scoring:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _scored(scorer: DrawScorer, rows: np.ndarray, shown: int) -> Scored:
    return Scored(scorer.score(rows), scorer.first_valid(rows, shown))


@contextmanager
def _mended() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise UserError(
            "a process that scores molecules ended before it was done, for want of memory perhaps; "
            "go on with fewer of them, or with none"
        ) from error


_scorer: DrawScorer
"""In a worker: its own."""


def _begin(scorer: DrawScorer) -> None:
    global _scorer
    _scorer = scorer


def _score(rows: bytes, shown: int) -> Scored:
    width = _scorer.alphabet.width
    return _scored(_scorer, np.frombuffer(rows, dtype=np.uint8).reshape(-1, width), shown)
