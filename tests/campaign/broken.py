"""Things that are broken on purpose: what the campaign says of them.

`python -m tests.campaign.broken FOLDER` prints the end of each as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gmpool.atomic_files import write_atomically
from gmpool.errors import UserError
from tests.campaign import one_thread  # noqa: F401  (before torch)
from tests.campaign.inputs import batches
from tests.campaign.kills import FullDisks, Kills
from tests.campaign.kinds import FAILED, Workshop
from tests.campaign.scenes import SCENES, Scene


def half_a_file() -> None:
    """Neither the old nor the new one is there when it is killed in between."""
    Path("out.txt").write_text("as it is to become")


def whole_file() -> None:
    try:
        write_atomically({Path("out.txt"): b"as it is to become"})
    except OSError as error:
        raise UserError(str(error)) from error


def refused(rng: random.Random, folder: Path) -> None:
    raise UserError("the third is refused")


def bug(rng: random.Random, folder: Path) -> None:
    raise KeyError("a bug")


def crash(rng: random.Random, folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(rng: random.Random, folder: Path) -> None:
    time.sleep(60)


def gluttony(rng: random.Random, folder: Path) -> None:
    bytearray(8 << 30)


def nothing(rng: random.Random, folder: Path) -> None:
    """Works."""


def main() -> None:
    folder = Path(sys.argv[1])
    workshop = Workshop(1, folder / "scratch", folder / "materials", folder / "failures")
    for each in (workshop.scratch, workshop.materials):
        each.mkdir(parents=True)
    ends: dict[str, list[str]] = {}
    batches.SECONDS = 1.0
    attempts: list[Callable[[random.Random, Path], None]] = [
        nothing, refused, bug, crash, hang, gluttony
    ]  # fmt: skip
    for attempt in attempts:

        def third(rng: random.Random, room: Path, attempt: object = attempt) -> None:
            if room.name == "2":
                attempt(rng, room)  # type: ignore[operator]

        kind = batches.Inputs(attempt.__name__, nothing, third)
        ends[attempt.__name__] = [result.end for result in kind.trials(range(4), workshop)]
    for act in (whole_file, half_a_file):
        SCENES.clear()
        SCENES["one"] = Scene(act, needs=(), text=act.__name__)
        for disturbed in (Kills(), FullDisks()):
            disturbed.prepare(workshop)
            results = list(disturbed.trials(range(len(disturbed.moments)), workshop))
            failed = [result for result in results if result.end == FAILED]
            ends[f"{act.__name__} {disturbed.name}"] = [result.end for result in failed]
            assert len(results) > 2
    print(json.dumps(ends))


if __name__ == "__main__":
    main()
