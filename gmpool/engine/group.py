"""Processes that do one training together, as torchrun begins them; one of them is the first, which
alone reads commands and writes files."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gmpool.errors import UserError

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
FOREVER = timedelta(days=30)
"""The first may load data for hours while the others wait; that it is gone is seen at once."""
LOST = (
    "a process of this training has ended, and so do the others; the same command goes on after "
    "the last epoch that was finished"
)


class Group:
    """This process among the others."""

    def __init__(self, store: Any, rank: int, count: int, local_rank: int) -> None:
        self._store, self.rank, self.count, self.local_rank = store, rank, count, local_rank
        self.is_training = False
        """Whether the others are in the middle of a run."""

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @contextmanager
    def training(self) -> Iterator[None]:
        self.is_training = True
        yield
        self.is_training = False  # who raises leaves the others in the middle of it

    def first_to_tell(self) -> bool:
        """Whether nobody has told the user yet why all of them end."""
        try:
            return int(self._store.add("told", 1)) == 1
        except RuntimeError:  # the store is gone with who had it
            return True

    def share(self, thing: Any = None) -> Any:
        """What the first gives, on all."""
        holder = [thing]
        dist.broadcast_object_list(holder, src=0, device=torch.device("cpu"))
        return holder[0]

    def each(self, thing: Any) -> list[Any]:
        """What each of them gives, on all."""
        found = [None] * self.count
        dist.all_gather_object(found, thing)
        return found

    def joined(self, rows: Tensor) -> list[Tensor]:
        """The rows of each, which may be of different numbers. [n_r, ...] each"""
        count = torch.tensor([rows.shape[0]], device=rows.device)
        counts = [torch.empty_like(count) for _ in range(self.count)]
        dist.all_gather(counts, count)
        numbers = [int(n) for n in counts]
        room = rows.new_zeros(max(numbers), *rows.shape[1:])
        room[: rows.shape[0]] = rows
        found = [torch.empty_like(room) for _ in numbers]
        dist.all_gather(found, room)
        return [each[:n] for each, n in zip(found, numbers, strict=True)]

    def sum(self, value: Tensor) -> Tensor:
        dist.all_reduce(value)
        return value


def is_of_connection(error: RuntimeError) -> bool:
    """Whether it says that another process is gone, wherever the library noticed."""
    return isinstance(error, dist.DistError) or "gloo" in str(error)


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether torchrun has begun this process beside others."""
    count = environment.get("WORLD_SIZE", "")
    return "RANK" in environment and count.isdecimal() and int(count) > 1


def join_group() -> Group:
    """Meet the others."""
    missing = [name for name in VARIABLES if name not in os.environ]
    if missing:
        raise UserError(
            f"WORLD_SIZE asks for {os.environ['WORLD_SIZE']} processes, but {', '.join(missing)} "
            "is missing: begin them by torchrun --nproc-per-node N -m gmpool …"
        )
    store, rank, count = next(dist.rendezvous("env://", timeout=timedelta(minutes=5)))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(
        backend,
        store=dist.PrefixStore("group", store),
        rank=rank,
        world_size=count,
        timeout=FOREVER,
    )
    return Group(store, rank, count, int(os.environ["LOCAL_RANK"]))


def leave_group() -> None:
    with suppress(RuntimeError):
        dist.destroy_process_group()


def on_termination(do: Callable[[], None]) -> None:
    """torchrun asks all to end when one has. They may be waiting for that one deep inside a
    library, where Python hears no signal, so that a thread is told of it."""
    heard_of, told_of = os.pipe()
    os.set_blocking(told_of, False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(told_of, warn_on_full_buffer=False)

    def listen() -> None:
        while True:
            if signal.SIGTERM in os.read(heard_of, 64):
                do()

    threading.Thread(target=listen, daemon=True).start()
