"""Who does a run: processes that share a store claim each before they begin it."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from gmpool.errors import StoreError
from gmpool.exclusive import BEAT, beat, claim, is_free, release, sweep
from gmpool.journal import WRITER


class Claims:
    """Those of this process on the runs of a store, in a file each in its folder `.claims`. They
    end with it, and a process that was killed has none."""

    def __init__(self, store: Path) -> None:
        self.folder = store / ".claims"
        self._held: dict[str, Path] = {}
        self._over = threading.Event()
        self._heart: threading.Thread | None = None
        self._is_new = False

    def take(self, key: str) -> bool:
        """Whether it is ours now."""
        path = self.folder / key
        try:
            if self._heart is None:
                self._begin()
            if not claim(path):
                return False
        except OSError as error:
            raise StoreError(
                f"{self.folder.parent} cannot be written: {error}; choose another folder with "
                f"--store"
            ) from error
        self._held[key] = path
        return True

    def is_free(self, key: str) -> bool:
        """Whether nobody who lives has it."""
        return is_free(self.folder / key)

    def others(self) -> bool:
        """Whether somebody who lives has one."""
        there = self.folder.iterdir() if self.folder.is_dir() else ()
        return any(not is_free(path) for path in there)

    def release(self, key: str) -> None:
        if path := self._held.pop(key, None):
            release(path)

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._held):
            self.release(key)
        if self._heart is not None:
            self._over.set()
            self._heart.join()
            with suppress(OSError):  # others are at work, or it holds rows
                self.folder.rmdir()
                if self._is_new:
                    self.folder.parent.rmdir()

    def _begin(self) -> None:
        self._is_new = not self.folder.parent.exists()
        sweep(self.folder)
        sweep(self.folder.parent, f".*{WRITER}*")
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            for path in list(self._held.values()):
                beat(path)
