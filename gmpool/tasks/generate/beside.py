"""Scoring beside the training: the next steps do not wait for what chemists say of the last.

Workers are never copies of this process, whose threads a copy would not have.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import TracebackType
from typing import NamedTuple

import numpy as np

from gmpool.errors import UserError
from gmpool.tasks.generate.scores import DrawScorer, DrawScores


class Scored(NamedTuple):
    scores: DrawScores
    smiles: list[str]
    """Of the first valid draws."""


class Scoring:
    """Scores in so many processes of its own; with 0 workers at once, in this one."""

    def __init__(self, scorer: DrawScorer, workers: int) -> None:
        self._scorer = scorer
        self._pool = _pool(scorer, workers) if workers else None

    def submit(self, rows: np.ndarray, shown: int) -> Callable[[], Scored]:
        """rows: uint8 [M, width]. shown: how many SMILES are asked for. Whoever calls what is
        returned waits for the scores, and hears of what went wrong."""
        if self._pool is None:
            scored = _scored(self._scorer, rows, shown)
            return lambda: scored
        self._scorer.check(rows)
        with _mended(), _deaf():
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


def _pool(scorer: DrawScorer, workers: int) -> ProcessPoolExecutor:
    if "forkserver" in multiprocessing.get_all_start_methods():
        context: multiprocessing.context.BaseContext = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
    else:
        context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(pickle.dumps(scorer),)
    )


@contextmanager
def _mended() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise UserError(
            "a process that scores molecules ended before it was done, for want of memory perhaps; "
            "go on with fewer of them, or with none"
        ) from error


@contextmanager
def _deaf() -> Iterator[None]:
    """A worker that is born here does not hear Ctrl-C, from its first moment on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_scorer: DrawScorer
"""In a worker: its own."""


def _begin(scorer: bytes) -> None:
    """What it holds is read when Ctrl-C is no longer heard."""
    global _scorer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _scorer = pickle.loads(scorer)


def _end_with_parent() -> None:
    """Nobody will ask again when who asked has been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _score(rows: bytes, shown: int) -> Scored:
    width = _scorer.alphabet.width
    return _scored(_scorer, np.frombuffer(rows, dtype=np.uint8).reshape(-1, width), shown)
