"""A pool of workers: they begin as told, and do without the script that asks for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from gmpool.worker_process import WorkerPool

_begun: list[object] = []


def begin(*given: object) -> None:
    _begun.extend(given)


def begun() -> list[object]:
    return _begun


def is_deaf() -> bool:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return signal.SIGINT in blocked and signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_workers_begin_with_what_they_are_given_and_hear_no_ctrl_c() -> None:
    with WorkerPool(1, __name__, begin, "a", 2) as pool:
        assert pool.submit(begun).result() == ["a", 2]
        assert pool.submit(is_deaf).result()
        assert list(pool.map(divmod, [7, 8], [2, 3])) == [(3, 1), (2, 2)]
    with WorkerPool(1, __name__) as pool:
        assert pool.submit(begun).result() == []
        assert pool.submit(os.getppid).result() != os.getppid()
    assert _begun == []


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from gmpool.worker_process import WorkerPool\n"
        "print('begins')\n"
        "with WorkerPool(2, 'gmpool.errors') as pool:\n"
        "    print(list(pool.map(abs, [-1, 2])))\n"
    )
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("begins\n[1, 2]\n", "")
