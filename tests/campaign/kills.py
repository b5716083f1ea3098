"""Kills and full disks at every write, rename and fsync of every scene, and at random times."""

from __future__ import annotations

import errno
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gmpool.engine.executors import processes
from gmpool.errors import UserError
from tests.campaign.faults import FREES, Faults, Moment
from tests.campaign.forks import Child, Ended, WrongEnd, in_a_child
from tests.campaign.kinds import FAILED, PASSED, REFUSED, Result, Workshop, generator
from tests.campaign.scenes import (
    AS_A_MODEL,
    SCENES,
    Scene,
    differences,
    furnish,
    play,
    snapshot,
    torn,
)

SECONDS = 60.0


@dataclass(frozen=True)
class Reference:
    """A scene that nobody disturbed."""

    old: dict[str, Any]
    new: dict[str, Any]
    events: list[str]
    seconds: float


def make_references(workshop: Workshop, names: Sequence[str] | None = None) -> dict[str, Reference]:
    """Each scene twice: what differs between them cannot be asked of a third."""
    made = {}
    for name in names or SCENES:
        scene = SCENES[name]
        old, first = _undisturbed(scene, workshop, None)
        _, second = _undisturbed(scene, workshop, Moment(0))
        for done in (first, second):
            if done.wrong:
                raise RuntimeError(f"{name} fails undisturbed:\n{done.wrong}")
        if differs := differences(first.value[0], second.value[0]):
            raise RuntimeError(f"{name} gives two results:\n" + "\n".join(differs))
        made[name] = Reference(old, first.value[0], second.value[1], first.seconds)
    return made


def _undisturbed(scene: Scene, workshop: Workshop, moment: Moment | None) -> tuple[Any, Ended]:
    folder = workshop.room("room")
    furnish(scene, workshop.materials, folder)
    old = snapshot(folder)
    done = in_a_child(
        lambda: _play(scene, folder, moment), workshop.scratch / "log", seconds=3 * SECONDS
    )
    return old, done


def _play(scene: Scene, folder: Path, moment: Moment | None) -> tuple[dict[str, Any], list[str]]:
    """In a child: the scene with a fault at a moment, and what is there afterwards."""
    # Copies of this process, which has one thread, instead of new ones that import everything.
    processes.context_with = lambda preload: processes.multiprocessing.get_context("fork")
    faults = Faults(folder, moment)
    if moment is not None:
        faults.install()
    play(scene, folder)
    return snapshot(folder), faults.events


class Disturbed:
    """What kills and full disks have in common: a scene is disturbed, and then done again."""

    name = "disturbed"

    def __init__(self) -> None:
        self.references: dict[str, Reference] = {}

    def prepare(self, workshop: Workshop) -> None:
        self.references = make_references(workshop)
        self.moments = list(self.all_moments())
        generator(self.name, workshop.seed).shuffle(self.moments)

    def all_moments(self) -> Iterator[tuple[str, Moment]]:
        raise NotImplementedError

    def trials(self, numbers: Sequence[int], workshop: Workshop) -> Iterator[Result]:
        for number in numbers:
            seed = workshop.name(self.name, number)
            folder = workshop.room("room")
            name, report, end, about = self.trial(number, seed, folder, workshop)
            if end == FAILED:
                report = f"{name}: {SCENES[name].text}\n{report}"
                workshop.keep(seed, folder, report)
            yield Result(self.name, seed, end, report, about)

    def trial(
        self, number: int, seed: str, folder: Path, workshop: Workshop
    ) -> tuple[str, str, str, dict[str, int]]:
        raise NotImplementedError

    def left(self, name: str, folder: Path, workshop: Workshop) -> str | None:
        """What is wrong with what a disturbed scene has left, if anything."""
        mine = self.references[name]
        models = {
            model
            for reference in self.references.values()
            for state in (reference.old, reference.new)
            for what, model in state.items()
            if what.endswith(AS_A_MODEL)
        }
        done = in_a_child(
            lambda: torn(mine.old, mine.new, snapshot(folder), models), workshop.scratch / "log"
        )
        return done.wrong or "\n".join(done.value) or None

    def again(self, name: str, folder: Path, workshop: Workshop) -> str | None:
        """What is wrong after the same command once more, if anything."""
        scene, reference = SCENES[name], self.references[name]
        done = in_a_child(
            lambda: _play(scene, folder, None), workshop.scratch / "log", seconds=SECONDS
        )
        if done.wrong:
            return f"the same command afterwards: {done.wrong}"
        said = differences(reference.new, done.value[0])
        return "afterwards " + "\n".join(said) if said else None


class Kills(Disturbed):
    name = "kill"

    def all_moments(self) -> Iterator[tuple[str, Moment]]:
        for name, reference in self.references.items():
            for number, event in enumerate(reference.events, start=1):
                yield name, Moment(number)
                if event == "write":
                    yield name, Moment(number, half=True)

    def trial(
        self, number: int, seed: str, folder: Path, workshop: Workshop
    ) -> tuple[str, str, str, dict[str, int]]:
        rng = generator(seed)
        if number < len(self.moments):
            name, moment = self.moments[number]
        else:
            name, moment = rng.choice(list(SCENES)), None
        scene, reference = SCENES[name], self.references[name]
        furnish(scene, workshop.materials, folder)
        kills, report = 0, ""
        for _ in range(1 + (rng.random() < 0.2)):  # now and then the second try is killed as well
            if moment is not None:
                at = (
                    f"before event {moment.number}"
                    if not moment.half
                    else f"inside {moment.number}"
                )
                report += f"killed {at} ({reference.events[moment.number - 1]})\n"
            else:
                report += "killed at a random moment\n"
            killed = self._kill(scene, folder, moment, rng.random() * reference.seconds, workshop)
            if killed.signal != 9:
                if killed.wrong:
                    return name, report + "not killed: " + killed.wrong, FAILED, {}
                break
            kills += 1
            if wrong := self.left(name, folder, workshop):
                return name, report + wrong, FAILED, {"kills": kills}
            events = len(reference.events)
            moment = Moment(rng.randint(1, events)) if rng.random() < 0.5 else None
        wrong = self.again(name, folder, workshop)
        if wrong:
            return name, report + wrong, FAILED, {"kills": kills}
        return name, report, PASSED, {"kills": kills}

    def _kill(
        self, scene: Scene, folder: Path, moment: Moment | None, after: float, workshop: Workshop
    ) -> Ended:
        child = Child(lambda: _play(scene, folder, moment), workshop.scratch / "log")
        if moment is None:
            time.sleep(after)
            child.kill()
        return child.wait(SECONDS)


ERRORS = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EDQUOT)


class FullDisks(Disturbed):
    name = "full-disk"

    def all_moments(self) -> Iterator[tuple[str, Moment]]:
        for name, reference in self.references.items():
            for number, event in enumerate(reference.events, start=1):
                if event not in FREES:
                    yield name, Moment(number, errno.ENOSPC, lasts=True)
                if event == "write":
                    yield name, Moment(number, errno.ENOSPC, half=True)

    def trial(
        self, number: int, seed: str, folder: Path, workshop: Workshop
    ) -> tuple[str, str, str, dict[str, int]]:
        rng = generator(seed)
        moment: Moment | None
        if number < len(self.moments):
            name, moment = self.moments[number]
        else:
            name = rng.choice(list(SCENES))
            events = len(self.references[name].events)
            error, lasts = rng.choice(ERRORS), rng.random() < 0.5
            moment = Moment(rng.randint(1, events), error, rng.random() < 0.5, lasts)
            if rng.random() < 0.3:
                moment = None
        size = int(2 ** rng.uniform(0, 16))
        scene, reference = SCENES[name], self.references[name]
        furnish(scene, workshop.materials, folder)
        done = in_a_child(
            lambda: self._try(scene, folder, moment, size),
            workshop.scratch / "log", seconds=SECONDS,
        )  # fmt: skip
        report = f"files of at most {size} bytes\n"
        if moment is not None:
            what = reference.events[moment.number - 1]
            report = f"errno {moment.error} at event {moment.number} ({what}), {moment}\n"
        if done.wrong:
            return name, report + done.wrong, FAILED, {}
        if wrong := self.left(name, folder, workshop):
            return name, report + wrong, FAILED, {}
        if wrong := self.again(name, folder, workshop):
            return name, report + wrong, FAILED, {}
        return name, report, PASSED if done.value == PASSED else REFUSED, {}

    def _try(self, scene: Scene, folder: Path, moment: Moment | None, size: int) -> str:
        if moment is None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        try:
            _play(scene, folder, moment)
        except WrongEnd as end:
            if str(end).startswith("exit code 2 "):
                return REFUSED
            raise
        except UserError:
            return REFUSED
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        return PASSED
