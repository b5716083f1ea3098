"""Mutated inputs, some dozens per process; whoever crashes it is found, and the rest goes on."""

from __future__ import annotations

import faulthandler
import json
import os
import random
import shutil
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gmpool.errors import UserError
from tests.campaign.forks import MIB, Child, Said, command
from tests.campaign.kinds import FAILED, PASSED, REFUSED, Result, Workshop, generator

BATCH = 25
SECONDS, MEMORY = 20.0, 1024 * MIB
"""The most that one input may take."""


@dataclass(frozen=True)
class Inputs:
    """make: writes a mutated input to an empty folder. attempt: in that folder, reads it in the
    ways that a user would; raises UserError where it is refused, and anything else where something
    is wrong. Both are functions of their generator and of what lies in the materials."""

    name: str
    make: Callable[[random.Random, Path], None]
    attempt: Callable[[random.Random, Path], None]

    def prepare(self, workshop: Workshop) -> None:
        pass

    def trials(self, numbers: Sequence[int], workshop: Workshop) -> Iterator[Result]:
        waiting = list(numbers)
        while waiting:
            batch, waiting = waiting[:BATCH], waiting[BATCH:]
            done = list(self._batch(batch, workshop))
            yield from done
            waiting = batch[len(done) :] + waiting  # those behind one that has crashed

    def _batch(self, numbers: Sequence[int], workshop: Workshop) -> Iterator[Result]:
        rooms = workshop.room("rooms")
        rooms.mkdir()
        ends = rooms / "ends.jsonl"
        limit = SECONDS * len(numbers) + 30
        child = Child(
            lambda: self._all(numbers, rooms, workshop), workshop.scratch / "log", memory=MEMORY
        )
        ended = child.wait(limit)
        lines = ends.read_text().splitlines() if ends.exists() else []
        results = [json.loads(line) for line in lines]
        if len(results) < len(numbers):
            why = ended.wrong or "it ended without a word"
            results.append([FAILED, f"the process: {why}\n{ended.said[-6000:]}"])
        for number, (end, report) in zip(numbers, results, strict=False):
            seed = workshop.name(self.name, number)
            if end == FAILED:
                workshop.keep(seed, rooms / str(number), report)
            yield Result(self.name, seed, end, report)
        shutil.rmtree(rooms, ignore_errors=True)

    def _all(self, numbers: Sequence[int], rooms: Path, workshop: Workshop) -> None:
        """In a child."""
        with open(rooms / "ends.jsonl", "a", encoding="utf-8") as ends:
            for number in numbers:
                room = rooms / str(number)
                room.mkdir()
                end, report = self.one(workshop.name(self.name, number), room, workshop.materials)
                if end != FAILED:
                    shutil.rmtree(room, ignore_errors=True)
                ends.write(json.dumps([end, report]) + "\n")
                ends.flush()

    def one(self, seed: str, room: Path, materials: Path, make: bool = True) -> tuple[str, str]:
        """make: else the input lies in the folder already."""
        os.environ["MATERIALS"] = str(materials)
        os.environ["XDG_CACHE_HOME"] = str(room / ".cache")
        try:
            if make:
                self.make(generator(seed, "make"), room)
            os.chdir(room)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            self.attempt(generator(seed, "attempt"), room)
        except UserError as error:
            if problem := badly_said(str(error)):
                return FAILED, f"{problem}: {error!r:.2000}"
            return REFUSED, str(error)[:300]
        except BaseException:
            return FAILED, traceback.format_exc()
        finally:
            faulthandler.cancel_dump_traceback_later()
        return PASSED, ""


def badly_said(text: str) -> str:
    """What is wrong with the words of an error."""
    if not text.strip():
        return "an error without a word"
    if len(text) > 20_000:
        return f"an error of {len(text)} characters"
    return ""


def materials() -> Path:
    return Path(os.environ["MATERIALS"])


def accepted(*words: object) -> Said:
    """A command that works; UserError where it ends with 2."""
    said = command(*words)
    if said.code:
        if any(ord(c) < 32 and c not in "\n\t\r" for c in said.text):
            raise AssertionError(f"control characters reach the terminal: {said.text!r:.500}")
        raise UserError(said.text)
    return said


def claim(true: bool, words: str) -> None:
    """What must hold of an input that was accepted."""
    if not true:
        raise AssertionError(words)
