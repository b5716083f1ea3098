"""Things that two processes do as one group, each of them new."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from gmpool.engine.group import Group, leave_group

TWO = 2


def by_two(do: Callable[[Group, Any], Any], given: Any, place: Path) -> list[Any]:
    """What ``do(group, given)`` makes in each; a function of a module."""
    spawn = multiprocessing.get_context("spawn")
    both = [spawn.Process(target=_one, args=(do, given, place, rank)) for rank in range(TWO)]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=120)
        if process.is_alive():
            process.kill()
    assert [process.exitcode for process in both] == [0] * TWO
    return [pickle.loads((place / f"{rank}").read_bytes()) for rank in range(TWO)]


def _one(do: Callable[[Group, Any], Any], given: Any, place: Path, rank: int) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    store = dist.FileStore(str(place / "meet"), TWO)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=TWO)
    made = do(Group(store, rank, TWO, rank), given)
    (place / f"{rank}").write_bytes(pickle.dumps(made))
    leave_group()
