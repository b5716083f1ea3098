"""New data, part by part, beside what is made of them: here or by several processes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import tee

from gmpool.data.graph_rows import Given, GraphRows, Part
from gmpool.data.packed import PackedGraphs
from gmpool.errors import UserError
from gmpool.tasks.crew import in_order
from gmpool.tasks.predictions import Answer, Predictions, Value

Read = tuple[PackedGraphs, dict[int, str]]
"""Graphs, and what is wrong with those of which there are none, by number."""
Answers = list[Sequence[Value] | str]
"""Of each that was given the values, or why there are none."""


class Answerer(ABC):
    """Makes values of graphs. It can be pickled, and so can what it reads with."""

    columns: Mapping[str, type]
    """Of the values, and their kinds."""
    device: str
    read: Callable[[Given], Read]
    """Makes graphs of what is given; it needs no accelerator."""

    @abstractmethod
    def answer(self, read: Read) -> Answers: ...

    def __call__(self, given: Given) -> Answers:
        return self.answer(self.read(given))


def answered(
    given: GraphRows, answerer: Answerer, *, workers: int = 1, done: int = 0
) -> Predictions:
    """workers: processes that work, this one among them; beside an accelerator they only read.
    done: so many rows need no answer, because they have one: whole parts from the beginning."""
    if workers < 1:
        raise UserError(f"workers is a number of processes from 1 on, got {workers}")
    parts = _answered(_left(given.parts, done), answerer, workers)
    return Predictions.beside(given.columns, answerer.columns, parts, given.total)


def _left(parts: Iterator[Part], done: int) -> Iterator[Part]:
    for part in parts:
        if done <= 0:
            yield part
        done -= len(part.rows)


def _answered(parts: Iterator[Part], answerer: Answerer, workers: int) -> Generator[list[Answer]]:
    kept, asked = tee(parts)
    contents = (part.given for part in asked)
    if answerer.device == "cpu":
        with closing(in_order(answerer, contents, workers)) as found:
            yield from map(_together, kept, found)
        return
    with closing(in_order(answerer.read, contents, workers)) as graphs:
        yield from map(_together, kept, map(answerer.answer, graphs))


def _together(part: Part, answers: Answers) -> list[Answer]:
    left = iter(answers)
    rows = []
    for row, place, problem in zip(part.rows, part.places, part.problems, strict=True):
        made = next(left) if problem is None else problem
        said = (None, made) if isinstance(made, str) else (made, None)
        rows.append(Answer(row, place, *said))
    return rows
