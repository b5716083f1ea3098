"""Several processes at once: on one run store, in one journal; and real ones that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gmpool.engine.store import RunStore
from gmpool.record import Row
from tests.campaign.faults import Faults, Moment
from tests.campaign.forks import Child, in_a_child
from tests.campaign.kills import SECONDS, Disturbed, _play, make_references
from tests.campaign.kinds import FAILED, PASSED, OneByOne, Workshop, generator
from tests.campaign.scenes import SCENES, furnish, journal

Trial = tuple[str, str, dict[str, int]]
SHARED = ("train", "train-keep", "run")


class SharedStore(Disturbed):
    """Two or three processes do the same at once; one may be killed. Every run is there once."""

    name = "together"

    def prepare(self, workshop: Workshop) -> None:
        self.references = make_references(workshop, [name for name in SHARED if name in SCENES])

    def trial(
        self, number: int, seed: str, folder: Path, workshop: Workshop
    ) -> tuple[str, str, str, dict[str, int]]:
        rng = generator(seed)
        name = rng.choice(list(self.references))
        scene, reference = SCENES[name], self.references[name]
        furnish(scene, workshop.materials, folder)
        count, kill = rng.choice((2, 2, 3)), rng.random() < 0.7
        moment = Moment(rng.randint(1, len(reference.events))) if rng.random() < 0.5 else None
        children = [
            Child(
                lambda mine=moment if kill and not which else None: _play(scene, folder, mine),
                workshop.scratch / f"log-{which}",
            )
            for which in range(count)
        ]
        if kill and moment is None:
            time.sleep(rng.random() * 2 * reference.seconds)
            children[0].kill()
        ends = [child.wait(SECONDS) for child in children]
        report = f"{count} at once, {'the first is killed' if kill else 'none is killed'}\n"
        for which, end in enumerate(ends):
            if end.wrong and not (kill and which == 0 and end.signal == signal.SIGKILL):
                return name, f"{report}number {which}: {end.wrong}", FAILED, {}
        if wrong := self.left(name, folder, workshop) or self.again(name, folder, workshop):
            return name, report + wrong, FAILED, {}
        return name, report, PASSED, {"kills": int(ends[0].signal == signal.SIGKILL)}


ROOT = Path(__file__).resolve().parents[2]
WRITTEN = 12


def _rows(materials: Path) -> list[Row]:
    return list(RunStore(materials / "old"))


def record_trial(seed: str, folder: Path, workshop: Workshop) -> Trial:
    """One to three writers; those that are killed lose at most the row they are at."""
    rng = generator(seed)
    folder.mkdir()
    row = _rows(workshop.materials)[0].to_json()
    writers = rng.choice((1, 2, 3))
    # As many events as a writer has; it dies in one of them.
    moments = [Moment(rng.randint(1, 4 * WRITTEN), half=rng.random() < 0.5) for _ in range(writers)]

    def write(which: int) -> Callable[[], None]:
        def work() -> None:
            told = os.open(folder / f".told-{which}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            faults = Faults(folder / "store", moments[which])
            faults.install()
            store = RunStore(folder / "store")
            for number in range(WRITTEN):
                key = f"{which}-{number}"
                store.record(Row.from_json({**row, "key": key}))
                os.write(told, f"{key}\n".encode())

        return work

    children = [Child(write(each), workshop.scratch / f"log-{each}") for each in range(writers)]
    ends = [child.wait(SECONDS) for child in children]
    kills = sum(end.signal == signal.SIGKILL for end in ends)
    for end in ends:
        if end.wrong and end.signal != signal.SIGKILL:
            return FAILED, end.wrong, {"kills": kills}

    def read() -> str:
        store = RunStore(folder / "store")
        store.record(Row.from_json({**row, "key": "the last"}))
        told = [line for f in folder.glob(".told-*") for line in f.read_text().split()]
        keys = [each.key for each in store]
        there = journal(store.path)
        lost = [key for key in [*told, "the last"] if key not in there]
        return f"lost {lost}" if lost else "doubled" if len(set(keys)) < len(keys) else ""

    done = in_a_child(read, workshop.scratch / "log")
    wrong = done.wrong or done.value
    return FAILED if wrong else PASSED, wrong or "", {"kills": kills}


class RealProcesses(Disturbed):
    """`python -m gmpool`, killed at a random time from outside: nothing is changed in it."""

    name = "real-kill"

    def prepare(self, workshop: Workshop) -> None:
        names = [name for name in ("train-keep", "train-workers") if name in SCENES]
        self.references = make_references(workshop, names)

    def trial(
        self, number: int, seed: str, folder: Path, workshop: Workshop
    ) -> tuple[str, str, str, dict[str, int]]:
        rng = generator(seed)
        name = rng.choice(list(self.references))
        scene = SCENES[name]
        furnish(scene, workshop.materials, folder)
        words = scene.text.split()[1:]
        environment: dict[str, Any] = {
            **os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache"),
            "MPLCONFIGDIR": str(workshop.scratch),
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "gmpool", *words], cwd=folder, env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        rows = folder / "runs" / "rows.jsonl"
        until = time.monotonic() + SECONDS
        late = rng.random() < 0.7  # most time goes into starting: wait until something is written
        while late and not rows.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.15 if late else 4.0))
        process.kill()
        killed = process.wait() == -signal.SIGKILL
        if wrong := self.left(name, folder, workshop) or self.again(name, folder, workshop):
            return name, wrong, FAILED, {"kills": int(killed)}
        return name, "", PASSED, {"kills": int(killed)}


RECORD = OneByOne("record", record_trial)
