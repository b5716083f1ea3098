"""Runs in processes of their own with one thread each, which is what a CPU's cores do best.

The batches of this field are so small that two threads on one run wait for each other more than
they work; two runs side by side do not.

What goes to a worker and back goes as bytes. Left to themselves, processes would pass tensors on as
open files in shared memory, of which a new process takes 256 at most, containers often have little,
and which can be had only as long as the sender lives.
"""

import ctypes
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import forkserver
from typing import ClassVar

import torch

from gmpool.engine.executors.executor import (
    Begin,
    Outcome,
    Watcher,
    Work,
    freely,
    train_one,
)
from gmpool.engine.job import Job, Run
from gmpool.errors import UserError
from gmpool.main_module import GUARD, main_left_out, needs_main
from gmpool.worker_process import be_a_worker, context_with, deaf

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The numbers by which malloc.h knows them."""


@dataclass(frozen=True)
class Processes:
    """So many workers at a time, each with one thread, which its rows say."""

    workers: int
    joins_jobs: ClassVar[bool] = True

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        todo = [(number, run) for number, (_, runs) in enumerate(work) for run in runs]
        if not todo:
            return
        tasks = (task for task in todo if begin(task[1]))
        before = multiprocessing.active_children()
        workers, context = min(self.workers, len(todo)), context_with(__name__)
        jobs = pickle.dumps([job for job, _ in work])
        with main_left_out(jobs):
            _get_ready(context)
        pool = ProcessPoolExecutor(
            workers, mp_context=context, initializer=_begin, initargs=(jobs,)
        )
        try:
            running: dict[Future[bytes], tuple[int, Run]] = {}
            for task in islice(tasks, workers):
                with _whole(), main_left_out(jobs):
                    running[pool.submit(_train, *task)] = task
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, run = running.pop(future)
                    # The next is begun first, so that no worker waits for who looks at this one.
                    for task in islice(tasks, 1):
                        with _whole(), main_left_out(jobs):
                            running[pool.submit(_train, *task)] = task
                    yield work[number].job, run, pickle.loads(future.result())
        except BrokenProcessPool as error:
            why = f"perhaps because {GUARD}" if needs_main(jobs) else "for want of memory perhaps"
            raise UserError(
                f"a worker process ended before its run was done, {why}; what is recorded stays: "
                "go on with fewer --workers"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                if child not in before:
                    child.terminate()


def usable_cores() -> int:
    """Those that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _get_ready(context: multiprocessing.context.BaseContext) -> None:
    """Wait for the process that workers are copies of to have imported what they need: whoever asks
    for a worker before that and is stopped leaves one that is born later, and complains.

    No signal of a terminal is for it, nor for its copies."""
    if context.get_start_method() != "forkserver":
        return
    with deaf():
        forkserver.ensure_running()
    first = context.Process(target=_nothing)  # type: ignore[attr-defined]
    first.start()
    first.join()


def _nothing() -> None:
    """The first copy is for seeing that there can be one."""


@contextmanager
def _whole() -> Iterator[None]:
    """Ctrl-C waits until a worker that is being started is known."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[object] = []
    before = signal.signal(signal.SIGINT, lambda *_: asked.append(_))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


_jobs: Sequence[Job] = ()
"""In a worker: what it may be asked to do."""


def _begin(jobs: bytes) -> None:
    global _jobs
    _jobs = pickle.loads(jobs)
    be_of_one_thread()
    be_a_worker()


def be_of_one_thread() -> None:
    """And where the C library is glibc: what a step frees is not given back to the system, from
    which the next step would take it again page by page: about a tenth of a training on MUTAG."""
    torch.set_num_threads(1)
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 2**25)  # the most it takes
        mallopt(M_TRIM_THRESHOLD, 2**30)


def _train(number: int, run: Run) -> bytes:
    return pickle.dumps(train_one(_jobs[number], run, "cpu")[2])
