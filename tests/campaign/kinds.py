"""What a kind of trial is, and where trials are made."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

PASSED, REFUSED, FAILED = "passed", "refused", "failed"
"""The three ends of a trial: it worked, it ended with one of our errors, or with anything else."""


@dataclass(frozen=True)
class Result:
    """How a trial ended. about: counted by the summary, such as how often a process was killed."""

    kind: str
    seed: str
    end: str
    report: str = ""
    about: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Workshop:
    """seed: of the whole campaign. scratch: a folder of this process. materials: copied from.
    failures: where what failed is kept."""

    seed: int
    scratch: Path
    materials: Path
    failures: Path

    def name(self, kind: str, number: int) -> str:
        return f"{kind}-{self.seed}-{number}"

    def room(self, name: str) -> Path:
        """A folder that is not there yet."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def keep(self, seed: str, folder: Path | None, report: str) -> None:
        """What failed, to be looked at and tried again."""
        to = self.failures / seed
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir(parents=True)
        if folder is not None and folder.exists():
            _copy(folder, to / "files")
        (to / "report.txt").write_text(report + "\n")


def _copy(folder: Path, to: Path) -> None:
    """Files and folders; what is neither is named only."""
    to.mkdir()
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            _copy(path, to / path.name)
        elif path.is_file():
            shutil.copy(path, to / path.name)


class Kind(Protocol):
    """Trials by number; a number and the campaign's seed make a trial, whoever makes it."""

    name: str

    def prepare(self, workshop: Workshop) -> None:
        """What all trials need, once, before they are shared among processes."""
        ...

    def trials(self, numbers: Sequence[int], workshop: Workshop) -> Iterator[Result]: ...


def generator(*words: Any) -> random.Random:
    return random.Random(":".join(map(str, words)))


@dataclass
class OneByOne:
    """A kind whose trials need nothing in common. trial: (seed, room, log) -> (end, report,
    about)."""

    name: str
    trial: Callable[[str, Path, Workshop], tuple[str, str, dict[str, int]]]
    setup: Callable[[Workshop], None] = lambda workshop: None

    def prepare(self, workshop: Workshop) -> None:
        self.setup(workshop)

    def trials(self, numbers: Sequence[int], workshop: Workshop) -> Iterator[Result]:
        for number in numbers:
            seed = workshop.name(self.name, number)
            room = workshop.room("room")
            end, report, about = self.trial(seed, room, workshop)
            if end == FAILED:
                workshop.keep(seed, room, report)
            yield Result(self.name, seed, end, report, about)
