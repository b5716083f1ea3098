"""Runs in processes of their own with one thread each, which is what a CPU's cores do best.

The batches of this field are so small that two threads on one run wait for each other more than
they work; two runs side by side do not.

What goes to a worker and back goes as bytes. Left to themselves, processes would pass tensors on as
open files in shared memory, of which a new process takes 256 at most, containers often have little,
and which can be had only as long as the sender lives.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, TypeVar

import torch

from gmpool.config import RunSpec
from gmpool.engine.store import Row
from gmpool.engine.train import Trained
from gmpool.errors import UserError
from gmpool.tasks.kernel.fit import Fitted

if TYPE_CHECKING:
    from gmpool.engine.jobs import AnyJob

J = TypeVar("J", bound="AnyJob")
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""The numbers by which malloc.h knows them."""
Done = tuple[Trained | Fitted, Row]


def in_processes(
    to_do: Sequence[tuple[J, list[RunSpec]]], workers: int
) -> Generator[tuple[J, RunSpec, Done | UserError]]:
    """Train each run alone, so many at a time. Each as it comes: with its row, which says that it
    had one thread, or why it failed."""
    tasks = [(number, spec) for number, (_, specs) in enumerate(to_do) for spec in specs]
    before = multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        min(workers, len(tasks)),
        mp_context=_context(),
        initializer=_begin,
        initargs=(pickle.dumps([job for job, _ in to_do]),),
    )
    try:
        running = {pool.submit(_train, *task): task for task in tasks}
        for future in as_completed(running):
            number, spec = running[future]
            yield to_do[number][0], spec, pickle.loads(future.result())
    except BrokenProcessPool as error:
        raise UserError(
            "a worker process ended before its run was done, for want of memory perhaps; what is "
            "recorded stays: go on with fewer --workers"
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


def _context() -> multiprocessing.context.BaseContext:
    """Workers are never copies of this process, whose threads a copy would not have. Where it is
    possible they are copies of one that has done nothing but import what they need."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["gmpool.engine.cross_validate", "gmpool.engine.reconstructions"]
    )
    return context


_jobs: Sequence[AnyJob] = ()
"""In a worker: what it may be asked to do."""


def _begin(jobs: bytes) -> None:
    global _jobs
    _jobs = pickle.loads(jobs)
    torch.set_num_threads(1)
    _keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked for the runs decides
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _keep_freed_memory() -> None:
    """Where the C library is glibc: what a step frees is not given back to the system, from which
    the next step would take it again page by page: about a tenth of a training on MUTAG."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 2**25)  # the most it takes
        mallopt(M_TRIM_THRESHOLD, 2**30)


def _end_with_parent() -> None:
    """Nobody will ask again when who asked has been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _train(number: int, spec: RunSpec) -> bytes:
    return pickle.dumps(_outcome(_jobs[number], spec))


def _outcome(job: AnyJob, spec: RunSpec) -> Done | UserError:
    try:
        trained = job.train_alone(spec, "cpu", None)
    except UserError as error:
        return error
    return trained, job.row(spec, trained, "cpu")
