"""Runs of which each is done by all processes of a group, one run after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from gmpool.engine.executors.executor import (
    Begin,
    Outcome,
    Watcher,
    Work,
    freely,
    train_one,
    trained_by,
)
from gmpool.engine.group import Group
from gmpool.engine.hands import State
from gmpool.engine.ranks import Ranks
from gmpool.engine.unfinished import Unfinished
from gmpool.errors import UserError


@dataclass(frozen=True)
class Shared:
    """The first process, which tells the others what to do. device: cpu or cuda, of which each has
    one. unfinished: the folder for what a run that was stopped goes on from."""

    group: Group
    device: str
    unfinished: Path
    joins_jobs: ClassVar[bool] = False

    def run(
        self, work: Sequence[Work], watcher: Watcher | None, begin: Begin = freely
    ) -> Generator[Outcome]:
        device = own_device(self.device, self.group)
        for job, runs in work:
            known = False
            for run in filter(begin, runs):
                file = Unfinished(self.unfinished, run.key)
                state = file.read()
                if watcher and (how := how_it_begins(file, state)):
                    watcher.note(f"seed {run.seed} fold {run.fold} {how}")
                on_epoch = watcher.run_started(job, run) if watcher else None
                with self.group.training():
                    new = None if known else job
                    self.group.share((new, run, self.device, has_tf32(), state))
                    hands = Ranks(self.group, state, file.write)
                    found = train_one(job, run, device, on_epoch, hands)
                known = True
                yield found
                file.remove()  # its row is recorded


def follow(group: Group) -> None:
    """Do a part of whatever the first process does, until it has ended."""
    job: Any = None
    while (asked := group.share()) is not None:
        given, run, device, tf32, state = asked
        torch.backends.cuda.matmul.allow_tf32 = tf32
        job = job if given is None else given
        trained_by(Ranks(group, state), job, run, own_device(device, group))


def how_it_begins(file: Unfinished, state: State | None) -> str | None:
    """A run of which something was kept; None: nothing was."""
    if state is not None:
        return f"goes on after epoch {len(state['curve'])}"
    if file.path.exists():
        return f"begins anew: {file.path} was kept by another version of gmpool"
    return None


def has_tf32() -> bool:
    return torch.backends.cuda.matmul.allow_tf32


def own_device(device: str, group: Group) -> str:
    """That of this process."""
    if device == "cpu":
        return device
    if group.local_rank >= (count := torch.cuda.device_count()):
        raise UserError(
            f"this machine has {count} CUDA devices, and process {group.rank} none: give "
            f"--nproc-per-node {count}, or --device cpu"
        )
    torch.cuda.set_device(group.local_rank)
    return f"cuda:{group.local_rank}"
