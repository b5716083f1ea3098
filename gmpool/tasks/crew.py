"""The same done with many things by several processes, with what comes of them in their order."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import torch

from gmpool.errors import UserError
from gmpool.main_module import GUARD, main_left_out, needs_main
from gmpool.worker_process import be_a_worker, deaf

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
    with _one_thread():
        yield from map(do, things) if workers == 1 else _together(do, things, workers)


def _together(
    do: Callable[[Thing], Made], things: Iterable[Thing], workers: int
) -> Generator[Made]:
    begun = time.monotonic()
    waiting: deque[Future[Made]] = deque()
    with Crew(do, workers - 1) as crew:
        for number, thing in enumerate(things):
            if number and not crew.begun and time.monotonic() - begun >= PATIENCE:
                crew.begin()
            if crew.is_ready and sum(not each.done() for each in waiting) < AHEAD * crew.size:
                waiting.append(crew.ask(thing))
            else:
                waiting.append(_done(do, thing, Future()))
            while waiting and (waiting[0].done() or len(waiting) > 2 * AHEAD * workers):
                yield waiting.popleft().result()
        while waiting:
            if not waiting[0].done() and (left := crew.take_back()) is not None:
                _done(do, *left)
            yield waiting.popleft().result()


def _done(do: Callable[[Thing], Made], thing: Thing, future: Future[Made]) -> Future[Made]:
    """By this process; what goes wrong is raised when its turn comes."""
    try:
        future.set_result(do(thing))
    except Exception as error:
        future.set_exception(error)
    return future


@contextmanager
def _one_thread() -> Iterator[None]:
    """From the beginning, so that results are the same bits however many make them."""
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
        self._needs_main = False

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
        self._needs_main = needs_main(work)
        with deaf(), main_left_out(work):
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
        with worker, suppress(EOFError, OSError):
            worker.send_bytes(work)
            worker.recv_bytes()
            self._ready.set()
            while (asked := self._asked.get()) is not None:
                thing, future = asked
                try:
                    worker.send_bytes(pickle.dumps(thing))
                    made, failed = pickle.loads(worker.recv_bytes())
                except (EOFError, OSError):
                    future.set_exception(self._ended())
                    raise
                except Exception as error:  # of what cannot be pickled
                    made, failed = None, error
                if failed is None:
                    future.set_result(made)
                else:
                    future.set_exception(failed)
            return
        self._lost = self._ended()

    def _ended(self) -> UserError:
        why = f"perhaps because {GUARD}" if self._needs_main else "for want of memory perhaps"
        return UserError(
            f"a worker process ended before its work was done, {why}; go on with fewer workers"
        )


def _serve(asker: Connection) -> None:
    """In a worker."""
    be_a_worker()
    torch.set_num_threads(1)
    do = pickle.loads(asker.recv_bytes())
    asker.send_bytes(b"ready")
    with suppress(EOFError, OSError):  # nobody asks any more
        while True:
            asker.send_bytes(_answer(do, pickle.loads(asker.recv_bytes())))


def _answer(do: Callable[[Any], Any], thing: Any) -> bytes:
    try:
        return pickle.dumps((do(thing), None))
    except Exception as error:
        if not isinstance(error, UserError):
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return pickle.dumps((None, error))
