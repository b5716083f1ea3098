"""A pool of workers: they begin as told, and do without the script that asks for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gmpool.worker_process import WorkerPool

_begun: list[object] = []


def begin(*given: object) -> None:
    _begun.extend(given)


def begun() -> list[object]:
    return _begun


def test_workers_begin_with_what_they_are_given() -> None:
    with WorkerPool(1, __name__, begin, "a", 2) as pool:
        assert pool.submit(begun).result() == ["a", 2]
        assert list(pool.map(divmod, [7, 8], [2, 3])) == [(3, 1), (2, 2)]
    with WorkerPool(1, __name__) as pool:
        assert pool.submit(begun).result() == []
        assert pool.submit(os.getppid).result() != os.getppid()
    assert _begun == []


DEAF = """
import signal

def is_deaf():
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return signal.SIGINT in blocked, signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""


def test_they_hear_no_ctrl_c_from_their_first_moment_on(tmp_path: Path) -> None:
    """In a process that has had no workers of anybody else's before."""
    (tmp_path / "deaf.py").write_text(DEAF)
    script = (
        "from deaf import is_deaf\n"
        "from gmpool.worker_process import WorkerPool\n"
        "with WorkerPool(1, 'gmpool.errors') as pool:\n"
        "    print(pool.submit(is_deaf).result())\n"
    )
    assert said_by(script, tmp_path) == ("(True, True)\n", "")


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    script = (
        "from gmpool.worker_process import WorkerPool\n"
        "print('begins')\n"
        "with WorkerPool(2, 'gmpool.errors') as pool:\n"
        "    print(list(pool.map(abs, [-1, 2])))\n"
    )
    assert said_by(script, tmp_path) == ("begins\n[1, 2]\n", "")


def said_by(text: str, folder: Path) -> tuple[str, str]:
    script = folder / "script.py"
    script.write_text(text)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout, done.stderr
