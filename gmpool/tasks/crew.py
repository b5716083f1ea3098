"""The same done with many things by several processes, with what comes of them in their order."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import torch

from gmpool.errors import UserError

Thing = TypeVar("Thing")
Made = TypeVar("Made")

PATIENCE = 2.0
"""Seconds of work after which others are asked to help: what is done sooner needs none."""
AHEAD = 2
"""Things that each worker has been given, so that it never waits for the next one."""


def in_order(
    do: Callable[[Thing], Made], things: Iterable[Thing], workers: int = 1
) -> Generator[Made]:
    """``map(do, things)`` by so many processes with one thread each, this one among them.

    `do`, the things and what is made of them are pickled. This process works too while the others
    begin, and whenever they have enough; a few things for each worker are in memory at a time.
    """
    if workers == 1:
        yield from map(do, things)
        return
    begun = time.monotonic()
    waiting: deque[Future[Made]] = deque()
    with _one_thread(), Crew(do, workers - 1) as crew:
        for number, thing in enumerate(things):
            if number and not crew.begun and time.monotonic() - begun >= PATIENCE:
                crew.begin()
            if crew.is_ready and sum(not each.done() for each in waiting) < AHEAD * crew.size:
                waiting.append(crew.ask(thing))
            else:
                waiting.append(_done(do(thing)))
            while waiting and (waiting[0].done() or len(waiting) > 2 * AHEAD * workers):
                yield waiting.popleft().result()
        while waiting:
            if not waiting[0].done() and (left := crew.take_back()) is not None:
                thing, future = left
                future.set_result(do(thing))
            yield waiting.popleft().result()


def _done(made: Made) -> Future[Made]:
    future: Future[Made] = Future()
    future.set_result(made)
    return future


@contextmanager
def _one_thread() -> Iterator[None]:
    """From the beginning, so that results are the same bits whoever makes them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Crew(Generic[Thing, Made]):
    """Processes that all do the same with what they are given. In a ``with`` block, at whose end
    they are gone, whatever happens."""

    def __init__(self, do: Callable[[Thing], Made], size: int) -> None:
        self.size = size
        self._do = do
        self._asked: SimpleQueue[tuple[Thing, Future[Made]] | None] = SimpleQueue()
        self._processes: list[Any] = []
        self._threads: list[threading.Thread] = []
        self._ready = threading.Event()
        self._lost: UserError | None = None

    def __enter__(self) -> Crew[Thing, Made]:
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in self._threads:
            self._asked.put(None)
        for process in self._processes:
            process.terminate()
            process.join()
        for thread in self._threads:
            thread.join()

    @property
    def begun(self) -> bool:
        return bool(self._processes)

    @property
    def is_ready(self) -> bool:
        """Whether one of them waits for work; raises when one has died."""
        if self._lost is not None:
            raise self._lost
        return self._ready.is_set()

    def begin(self) -> None:
        """Start them; they are new processes and no copies, for a copy has none of the threads."""
        context, work = multiprocessing.get_context("spawn"), pickle.dumps(self._do)
        with _no_signal_of_a_terminal():
            for _ in range(self.size):
                mine, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                self._processes.append(process)
                thread = threading.Thread(target=self._supply, args=(mine, work), daemon=True)
                thread.start()
                self._threads.append(thread)

    def ask(self, thing: Thing) -> Future[Made]:
        future: Future[Made] = Future()
        self._asked.put((thing, future))
        return future

    def take_back(self) -> tuple[Thing, Future[Made]] | None:
        """Something that nobody has begun, and nobody else will do."""
        try:
            return self._asked.get_nowait()
        except Empty:
            return None

    def _supply(self, worker: Connection, work: bytes) -> None:
        """A thread for each: it is given one thing after the other."""
        future: Future[Made] | None = None
        try:
            worker.send_bytes(work)
            worker.recv_bytes()
            self._ready.set()
            while (asked := self._asked.get()) is not None:
                thing, future = asked
                worker.send_bytes(pickle.dumps(thing))
                made, failed = pickle.loads(worker.recv_bytes())
                if failed is None:
                    future.set_result(made)
                else:
                    future.set_exception(failed)
        except (EOFError, OSError):
            self._lost = UserError(
                "a worker process ended before its work was done, for want of memory perhaps; "
                "go on with fewer --workers"
            )
            if future is not None and not future.done():
                future.set_exception(self._lost)
        finally:
            worker.close()


@contextmanager
def _no_signal_of_a_terminal() -> Iterator[None]:
    """Ctrl-C is for who asked, not for the processes that begin here."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(asker: Connection) -> None:
    """In a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        do = pickle.loads(asker.recv_bytes())
        asker.send_bytes(b"ready")
        while True:
            thing = pickle.loads(asker.recv_bytes())
            asker.send_bytes(_answer(do, thing))
    except (EOFError, OSError):
        return  # nobody asks any more


def _answer(do: Callable[[Any], Any], thing: Any) -> bytes:
    try:
        return pickle.dumps((do(thing), None))
    except Exception as error:
        return pickle.dumps((None, error))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
