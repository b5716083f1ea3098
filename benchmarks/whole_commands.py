"""Whole commands in processes of their own, as a person waits for them."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gmpool.errors import UserError


class Took(NamedTuple):
    seconds: float
    of_processors: float


def gmpool(*words: object) -> list[object]:
    """A command of ours."""
    return [sys.executable, "-m", "gmpool", *words]


def run(command: Sequence[object]) -> Took:
    words = [str(word) for word in command]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=dict(os.environ))
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise UserError(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(seconds, used)


def in_turns(turn: Callable[[int], tuple[Took, ...]], rounds: int) -> list[Took]:
    """Of each contestant of a turn, which is told its number, the medians over the rounds."""
    taken = zip(*(turn(number) for number in range(rounds)), strict=True)
    return [Took(*map(statistics.median, zip(*each, strict=True))) for each in taken]
