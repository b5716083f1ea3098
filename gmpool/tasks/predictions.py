"""A table of predictions that is made as it is asked for, beside the columns of its input."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

Value = str | float | None
PROBLEM = "problem"


class Answer(NamedTuple):
    """What a model says of one row of its input, or why it says nothing."""

    row: list[str]
    place: str
    values: Sequence[Value] | None
    problem: str | None = None


class PredictedRow(NamedTuple):
    """The input's cells, the predictions (None where there is none) and the problem or ""."""

    cells: list[Value]
    place: str
    problem: str | None


class Predictions(NamedTuple):
    """One row per row of the input, in its order; they can be taken once.

    ``pandas.DataFrame((row.cells for row in made.rows), columns=made.columns)`` has all of them.
    """

    columns: list[str]
    kinds: list[type]
    """float or str, of each column."""
    parts: Generator[list[PredictedRow]]
    """Rows that were made together. When it is closed nothing more is made."""
    total: int | None
    """About how many rows will come; None: not known."""
    renamed: dict[str, str]
    """Columns whose name the input has already, and how they are called instead."""

    @property
    def rows(self) -> Iterator[PredictedRow]:
        return chain.from_iterable(self.parts)

    @classmethod
    def beside(
        cls,
        kept: Sequence[str],
        made: Mapping[str, type],
        answers: Iterable[Sequence[Answer]],
        total: int | None = None,
    ) -> Predictions:
        """kept: the columns of the input; made: those of the model's answers and their kinds."""
        new = {**made, PROBLEM: str}
        names = dict(zip(new, _free_names(kept, new), strict=True))
        return cls(
            [*kept, *names.values()],
            [*([str] * len(kept)), *new.values()],
            ([_joined(answer, len(made)) for answer in part] for part in answers),
            total,
            {name: other for name, other in names.items() if name != other},
        )


def _joined(answer: Answer, width: int) -> PredictedRow:
    values = [None] * width if answer.values is None else answer.values
    return PredictedRow([*answer.row, *values, answer.problem or ""], answer.place, answer.problem)


def _free_names(kept: Sequence[str], wanted: Iterable[str]) -> Iterator[str]:
    """The wanted names, with _2, _3, … where they are taken."""
    taken = set(kept)
    for name in wanted:
        tried = chain([name], (f"{name}_{number}" for number in count(2)))
        free = next(each for each in tried if each not in taken)
        taken.add(free)
        yield free
