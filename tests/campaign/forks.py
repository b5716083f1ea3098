"""Trials in processes of their own: whatever crashes, hangs or takes all memory is seen and named.

The process that starts them has imported everything once and has one thread, so that a copy of it
begins at once and may train.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1 << 20


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    value: Any = None
    """What its work returned."""
    trouble: str | None = None
    """The traceback of what its work raised."""
    signal: int | None = None
    late: bool = False
    """It was still running when its time was over."""
    said: str = ""
    """What it wrote to standard output and standard error."""
    seconds: float = 0.0

    @property
    def wrong(self) -> str | None:
        """What is wrong with an end that was to be a return."""
        if self.late:
            return f"still running after {self.seconds:.0f} s\n{self.said[-6000:]}"
        if self.signal is not None:
            return f"ended by {signal.Signals(self.signal).name}\n{self.said[-6000:]}"
        return self.trouble


class Child:
    """A copy of this process that does some work. log: a file that nobody else writes."""

    def __init__(self, work: Callable[[], Any], log: Path, *, memory: int | None = None) -> None:
        self.log, self.answer = log, log.with_suffix(".answer")
        self.answer.unlink(missing_ok=True)
        self.began = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _be_child(work, log, self.answer, memory)
            finally:
                os._exit(70)
        self.handle = os.pidfd_open(self.pid)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float) -> Ended:
        """Its end, or the end that it is put to after so many seconds."""
        left = max(0.0, self.began + seconds - time.monotonic())
        late = not select.select([self.handle], [], [], left)[0]
        if late:
            os.kill(self.pid, signal.SIGABRT)  # which makes it say where it is
            select.select([self.handle], [], [], 2.0)
            self.kill()
        _, status, _ = os.wait4(self.pid, 0)
        os.close(self.handle)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what it has left behind, if anything
        took = time.monotonic() - self.began
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        code = os.waitstatus_to_exitcode(status)
        if late or code < 0:
            number = None if late else -code
            return Ended(signal=number, late=late, said=said, seconds=took)
        try:
            value, trouble = pickle.loads(self.answer.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):
            return Ended(trouble=f"exit code {code}, no answer\n{said}", said=said, seconds=took)
        return Ended(value, trouble, said=said, seconds=took)


def in_a_child(
    work: Callable[[], Any], log: Path, *, seconds: float = 60, memory: int | None = None
) -> Ended:
    return Child(work, log, memory=memory).wait(seconds)


def _be_child(work: Callable[[], Any], log: Path, answer: Path, memory: int | None) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    text = os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    for target, source in ((0, nothing), (1, text), (2, text)):
        os.dup2(source, target)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None:
        bound_memory(memory)
    faulthandler.enable(2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    value, trouble = None, None
    try:
        value = work()
    except BaseException:
        trouble = traceback.format_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    with open(answer, "wb") as file:
        pickle.dump((value, trouble), file)
    os._exit(0)


def bound_memory(more: int) -> None:
    """So many bytes beside what this process holds already."""
    status = Path("/proc/self/status").read_text()
    held = next(int(line.split()[1]) for line in status.splitlines() if "VmData" in line)
    resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + more, resource.RLIM_INFINITY))


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it wrote."""

    code: int
    text: str


class WrongEnd(Exception):
    """A command ended in another way than by success or by one of our errors."""


def command(*words: object) -> Said:
    """The command line in this process, which is a child: success, or our error with code 2."""
    from gmpool.cli import main

    sys.argv = ["gmpool", *map(str, words)]
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            main()
            code: Any = 0
        except SystemExit as end:
            code = end.code or 0
    text = written.buffer.getvalue().decode(errors="replace")
    if code not in (0, 2) or "Traceback (most recent call last)" in text:
        raise WrongEnd(f"exit code {code!r} of gmpool {' '.join(map(str, words))}\n{text[-3000:]}")
    if code == 2 and not text.strip():
        raise WrongEnd(f"gmpool {' '.join(map(str, words))} ended with 2 and without a word")
    return Said(code, text)
