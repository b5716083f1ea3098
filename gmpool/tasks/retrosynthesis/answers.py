"""Predictions for products as a user has them: a SMILES, or a table with a column of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gmpool.data.sources.table_cells import SUFFIXES
from gmpool.data.sources.table_columns import Table
from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.predict import (
    AT_ONCE,
    BadProduct,
    Prediction,
    Predictor,
    read_product,
)

COLUMNS: dict[str, type] = {
    "line": str, "product": str, "rank": float, "reactants": str, "probability": float,
    "score": float, "template": str, "problem": str,
}  # fmt: skip
NOTHING = "no template of the model makes anything of it"


class Asked(NamedTuple):
    """A product as it was given. line: of the table. problem: why its row cannot be read."""

    text: str
    line: int | None = None
    problem: str | None = None


class Answer(NamedTuple):
    """What is said of a product, or why nothing is."""

    product: str
    line: int | None
    predictions: Sequence[Prediction]
    problem: str | None = None

    @property
    def rows(self) -> list[list[str | float | None]]:
        """With the columns COLUMNS, the best first."""
        first = ["" if self.line is None else str(self.line), self.product]
        if self.problem is not None:
            return [[*first, None, None, None, None, None, self.problem]]
        return [
            [*first, rank, ".".join(p.reactants), p.probability, p.score, p.template, ""]
            for rank, p in enumerate(self.predictions, start=1)
        ]


def is_table(target: str) -> bool:
    """Whether a file of products is meant, and not a SMILES."""
    return Path(target).is_file() or target.lower().endswith(SUFFIXES)


def products_of(target: str, smiles_column: str | None = None) -> list[Asked]:
    if not is_table(target):
        if smiles_column is not None:
            raise DataError(f"{target!r} is no table, and so has no column {smiles_column!r}")
        return [Asked(target)]
    table = Table.read(target)
    column = table.find_smiles(smiles_column)
    found = [
        Asked(row[column].strip(), line) for line, row in zip(table.lines, table.rows, strict=True)
    ]
    found += [Asked("", line, problem) for line, problem in table.bad]
    return sorted(found, key=lambda asked: asked.line or 0)


def answers(
    predictor: Predictor,
    asked: Sequence[Asked],
    *,
    top: int = 10,
    group: str | None = None,
    merged: bool = True,
    workers: int = 1,
) -> Iterator[Answer]:
    """An answer for each, in order. What does not fit the model raises before the first."""
    predictor.allowed(group)
    return _answers(predictor, iter(asked), top, group, merged, workers)


def _answers(
    predictor: Predictor,
    asked: Iterator[Asked],
    top: int,
    group: str | None,
    merged: bool,
    workers: int,
) -> Iterator[Answer]:
    with ExitStack() as stack:
        if workers > 1:
            stack.enter_context(predictor.in_processes(workers))
        while some := list(islice(asked, AT_ONCE * workers)):
            read = [_read(each) for each in some]
            good = [each.product for each in read if each.problem is None]
            found = iter(predictor.predict_many(good, top, group, merged=merged))
            for each in read:
                if each.problem is None:
                    predictions = next(found)
                    problem = None if predictions else NOTHING
                    each = Answer(each.product, each.line, predictions, problem)
                yield each


def _read(asked: Asked) -> Answer:
    """Without predictions yet."""
    if asked.problem is not None:
        return Answer(asked.text, asked.line, (), asked.problem)
    try:
        return Answer(read_product(asked.text), asked.line, ())
    except BadProduct as error:
        return Answer(asked.text, asked.line, (), str(error))
