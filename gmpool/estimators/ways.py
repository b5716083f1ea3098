"""Where and in how many processes members are trained."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import torch

from gmpool.engine.device import usable_device
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.processes import Processes, usable_cores
from gmpool.engine.executors.stacked import Stacked
from gmpool.errors import UserError, WrongType

_turn = threading.Lock()


def device_of(device: Any) -> str:
    """cpu, cuda or cuda:N."""
    if not isinstance(device, str | torch.device):
        raise WrongType(f"device takes cpu, cuda or auto, got {device!r}")
    name = usable_device(str(device), "device=")
    return "cpu" if torch.device(name).type == "cpu" else name


def executor_for(device: str, members: int, n_jobs: Any) -> Executor:
    """A process that is itself one of several, as those of GridSearchCV(n_jobs=2), has none of its
    own: they would be more than there are cores."""
    jobs = 1 if n_jobs is None else n_jobs
    if isinstance(jobs, bool) or not isinstance(jobs, Integral) or jobs == 0:
        raise UserError(f"n_jobs is a number of processes, or -1 for one per core, got {n_jobs!r}")
    if device != "cpu":
        return Stacked(device)
    count = int(jobs)
    count = count if count > 0 else usable_cores() + 1 + count
    workers = min(max(count, 1), members)
    is_worker = multiprocessing.parent_process() is not None
    return Alone(device) if workers == 1 or is_worker else Processes(workers)


@contextmanager
def at_once(*, alone: bool) -> Iterator[None]:
    """While something is fitted. Threads take turns: random numbers and how many threads a sum
    takes are the process's own. Members have one thread each, wherever they are trained, for the
    same bits; a model that is alone has all."""
    with _turn:
        before = torch.get_num_threads()
        if not alone:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
