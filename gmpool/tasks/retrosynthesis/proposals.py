"""What a saved model proposes for products: answers, rows for a table, and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gmpool.tasks.retrosynthesis.answers import COLUMNS, Answer, answers, is_table, products_of
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.page import prediction_html
from gmpool.tasks.retrosynthesis.predict import Predictor


class Proposals(NamedTuple):
    """answers: can be taken once. several: whether they are of a table. page: of answers, with a
    title and notes, as HTML."""

    columns: list[str]
    kinds: list[type]
    """float or str, of each column."""
    answers: Iterator[Answer]
    total: int
    several: bool
    page: Callable[..., str]


def propose(
    model: GLN,
    target: str,
    *,
    device: str = "cpu",
    smiles_column: str | None = None,
    **options: Any,
) -> Proposals:
    """target: a SMILES, or the path of a table. options: those of `answers`. Whatever does not fit
    at all raises here."""
    asked: Sequence[Any] = products_of(target, smiles_column)
    found = answers(Predictor(model, device), asked, **options)
    names, kinds = list(COLUMNS), list(COLUMNS.values())
    return Proposals(names, kinds, found, len(asked), is_table(target), prediction_html)
