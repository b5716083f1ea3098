"""Files that one living process has at a time: who makes such a file has it.

Nothing is asked of the file system but that a name is given once, so that it works where `flock`
does not. What a dead process has left is taken over: one of this machine when it is gone, one of
another when it has given no sign of life for a while.
"""

import contextlib
import errno
import json
import os
import random
import secrets
import socket
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

BEAT, SILENT = 20.0, 180.0
"""Seconds between signs of life of who has a file for long, and without one until it is dead."""
WRITING = 10.0
"""Seconds that a file may take to say whose it is, where it cannot be made with its content."""
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_mine: dict[Path, str] = {}


def claim(path: Path) -> bool:
    """Have the file, unless somebody who lives has it."""
    while not _make(path):
        text = _read(path)
        if text is None:
            continue  # given back in this moment
        if _lives(text, path) or not _bury(path, text):
            return False
    return True


def release(path: Path) -> None:
    """Give it back, if it was not taken over."""
    text = _mine.pop(path, None)
    if text is not None and _read(path) == text:
        path.unlink(missing_ok=True)


def is_free(path: Path) -> bool:
    """Whether it can be had."""
    text = _read(path)
    return text is None or not _lives(text, path)


def beat(path: Path) -> None:
    """A sign of life of who has it."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(path)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until it can be had, for a moment's work."""
    while not claim(path):
        time.sleep(random.uniform(0.001, 0.01))
    try:
        yield
    finally:
        release(path)


def sweep(folder: Path, pattern: str = "*") -> None:
    """Take away what dead processes have left."""
    for path in sorted(folder.glob(pattern)) if folder.is_dir() else ():
        text = _read(path)
        if text is not None and not _lives(text, path):
            _bury(path, text)


def _make(path: Path) -> bool:
    """Make the file with its content in one step; whether there was none."""
    me = os.getpid()
    text = json.dumps(
        {"host": _here(), "pid": me, "started": _started(me), "token": secrets.token_hex(8)}
    )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text(text, encoding="utf-8")
    try:
        made = _link(draft, path, text)
    finally:
        draft.unlink(missing_ok=True)
    if made:
        _mine[path] = text
    return made


def _link(draft: Path, path: Path, text: str) -> bool:
    try:
        os.link(draft, path)
    except FileExistsError:
        return draft.stat().st_nlink == 2  # a network may do it and say that it did not
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return False
    return True


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None


def _lives(text: str, path: Path) -> bool:
    try:
        owner = json.loads(text)
        host, pid, started = owner["host"], int(owner["pid"]), owner["started"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return _age(path) < WRITING
    if host == _here():
        return started == _started(pid) is not None
    return _age(path) < SILENT


def _bury(path: Path, text: str) -> bool:
    """Take the file of a dead process away; only who has the guard may do so, and looks again."""
    guard = path.with_name(f".{path.name}.guard")
    if not _make(guard):
        left = _read(guard)
        if left is not None and not _lives(left, guard):
            guard.unlink(missing_ok=True)
        return False
    try:
        if _read(path) == text:
            path.unlink(missing_ok=True)
    finally:
        release(guard)
    return True


def _age(path: Path) -> float:
    """Seconds since the last sign of life, by the clock of the file system: machines differ."""
    probe = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
    finally:
        probe.unlink(missing_ok=True)


@cache
def _here() -> str:
    """Where a process is known by its number: the machine since it was started, and in it the
    container."""
    return " ".join([socket.gethostname(), _line("/proc/sys/kernel/random/boot_id"), _space()])


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """When the process of this number began, so that it is not taken for another that gets its
    number later; None: there is none, or only what is left of it."""
    if Path("/proc/self/stat").exists():
        fields = _line(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return None if not fields or fields[0] in "ZX" else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""
