"""What touches the disk below a folder is counted, and at one of these moments the process dies or
is told that the disk is full."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError

BY_PATH = ("replace", "rename", "link", "symlink", "mkdir", "unlink", "remove", "rmdir")
BY_FILE = ("fsync", "fdatasync", "ftruncate")
FREES = ("unlink", "remove", "rmdir")
"""What a full disk does not refuse."""


@dataclass(frozen=True)
class Moment:
    """The number of an event, from 1, and what happens there: the process dies before it, or in
    the middle of it where that is possible; or it fails with an errno, and so do all later ones
    where it lasts."""

    number: int
    error: int | None = None
    half: bool = False
    lasts: bool = False


class Faults:
    """In a process that is to die anyway: everything that it does is changed for good."""

    def __init__(self, folder: Path, moment: Moment | None = None) -> None:
        self.folder = os.path.abspath(folder)
        self.moment = moment
        self.events: list[str] = []
        self.owner = os.getpid()

    def install(self) -> None:
        for name in BY_PATH:
            setattr(os, name, self._by_path(name, getattr(os, name)))
        for name in BY_FILE:
            setattr(os, name, self._by_file(name, getattr(os, name)))
        os.write = self._os_write(os.write)
        os.open = self._os_open(os.open)
        builtins.open = io.open = self._open(io.open)
        safetensors.torch.save_file = self._save_file(safetensors.torch.save_file)

    def event(self, name: str, do: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        self.events.append(name)
        moment, number = self.moment, len(self.events)
        if moment is None or os.getpid() != self.owner:
            return do()
        if moment.error is None:
            if number == moment.number:
                if moment.half and half is not None:
                    half()
                os.kill(os.getpid(), signal.SIGKILL)
            return do()
        here = number == moment.number
        if here or (moment.lasts and number > moment.number and name not in FREES):
            if here and moment.half and half is not None:
                half()
            raise OSError(moment.error, os.strerror(moment.error))
        return do()

    def inside(self, path: Any) -> bool:
        if isinstance(path, int):
            with contextlib.suppress(OSError):
                return os.readlink(f"/proc/self/fd/{path}").startswith(self.folder)
            return False
        with contextlib.suppress(TypeError, ValueError):
            return os.path.abspath(os.fsdecode(path)).startswith(self.folder)
        return False

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **options: Any) -> Any:
            if not self.inside(path):
                return real(path, *args, **options)
            return self.event(name, lambda: real(path, *args, **options))

        return call

    _by_file = _by_path

    def _os_write(self, real: Callable[..., int]) -> Callable[..., int]:
        def write(descriptor: int, data: Any) -> int:
            if not self.inside(descriptor):
                return real(descriptor, data)
            half = memoryview(data)[: len(data) // 2]
            return self.event(
                "write", lambda: real(descriptor, data), lambda: real(descriptor, half)
            )

        return write

    def _os_open(self, real: Callable[..., int]) -> Callable[..., int]:
        def opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if not flags & os.O_CREAT or not self.inside(path):
                return real(path, flags, *args, **options)
            name = "create alone" if flags & os.O_EXCL else "create"
            return self.event(name, lambda: real(path, flags, *args, **options))

        return opened

    def _open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(
            file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
            errors: str | None = None, newline: str | None = None, closefd: bool = True,
            opener: Any = None,
        ) -> Any:  # fmt: skip
            if not set(mode) & set("wax+") or isinstance(file, int) or not self.inside(file):
                return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
            plain = mode.replace("t", "").replace("b", "")

            def make() -> _File:
                return _File(self, file, plain, closefd, opener)

            raw = self.event("create", make) if set(mode) & set("wax") else make()
            if buffering == 0:
                return raw
            buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            if "b" in mode:
                return buffer
            return io.TextIOWrapper(buffer, encoding, errors, newline, buffering == 1)

        return opened

    def _save_file(self, real: Callable[..., None]) -> Callable[..., None]:
        def save_file(tensors: Any, filename: Any, metadata: Any = None) -> None:
            if not self.inside(filename):
                return real(tensors, filename, metadata)

            def half() -> None:
                real(tensors, filename, metadata)
                os.truncate(filename, os.path.getsize(filename) // 2)

            try:
                return self.event("write", lambda: real(tensors, filename, metadata), half)
            except OSError as error:  # as it says it
                raise SafetensorError(f"I/O error: {error}") from None

        return save_file


class _File(io.FileIO):
    """A file whose writes are events; what it buffers comes in the pieces the system would see."""

    def __init__(self, faults: Faults, *args: Any) -> None:
        super().__init__(*args)
        self._faults = faults

    def write(self, data: Any, /) -> int:
        whole = bytes(data)
        return self._faults.event(
            "write",
            lambda: super(_File, self).write(whole),
            lambda: super(_File, self).write(whole[: len(whole) // 2]),
        )
