"""Processes that work for this one.

They are never copies of it, whose threads a copy would not have. Where it is possible they are
copies of one that has done nothing but import what they need.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from gmpool.main_module import main_left_out

Given = ParamSpec("Given")
Made = TypeVar("Made")


class WorkerPool(ProcessPoolExecutor):
    """So many workers, each of which begins with `begin(*given)`."""

    def __init__(
        self,
        workers: int,
        preload: str,
        begin: Callable[..., None] | None = None,
        *given: object,
    ) -> None:
        self._work = pickle.dumps((begin, given))
        super().__init__(
            workers, mp_context=context_with(preload), initializer=_begin, initargs=(self._work,)
        )

    def submit(
        self, do: Callable[Given, Made], /, *args: Given.args, **options: Given.kwargs
    ) -> Future[Made]:
        """This is when they are born."""
        with deaf(), main_left_out(self._work):
            return super().submit(do, *args, **options)


def context_with(preload: str) -> multiprocessing.context.BaseContext:
    """What makes workers. preload: the module that they are to have imported."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([preload])
    return context


@contextmanager
def deaf() -> Iterator[None]:
    """A worker that is born here does not hear Ctrl-C, from its first moment on: who asked for it
    decides."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(work: bytes) -> None:
    """What there is to work with is read when Ctrl-C is no longer heard."""
    be_a_worker()
    begin, given = pickle.loads(work)
    if begin is not None:
        begin(*given)


def be_a_worker() -> None:
    """Who asked decides when to stop, and nobody will ask again when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
