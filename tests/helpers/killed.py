"""Processes that are killed at a chosen moment."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import Any

STEPS = ("fsync", "replace", "rename", "link", "unlink", "write")
"""What a process does to a disk, by the names of the module os."""


def ends_before(step: int, do: Callable[[], object]) -> bool:
    """Do it in a process of its own, which is killed in place of the step of this number, from 0.
    Whether it ended before that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a copy has none of the threads
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            _count(step)
            do()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "it failed, and was not killed"
    return True


def _count(step: int) -> None:
    left = [step]

    def counted(do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return do(*args, **options)

        return call

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
