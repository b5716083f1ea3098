"""Which columns of a table are labels. What only looks like one is never guessed: a count of the
rows, an identifier, a constant, a split; nor is there a choice between labels of several kinds."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gmpool.data.labels import infer_task
from gmpool.data.packed_fields import Task
from gmpool.data.sources.table_cells import is_missing
from gmpool.data.sources.table_columns import Table, quoted, shown
from gmpool.data.splits import is_part
from gmpool.errors import DataError

# fmt: off
_IDENTIFIERS = frozenset((
    "id", "ids", "index", "idx", "name", "names", "line", "row", "no", "nr", "num", "number",
    "compound", "compound_name", "compound_number", "molecule_name", "mol_name", "cas",
    "cas_number", "casrn", "inchi", "inchikey", "inchi_key", "cid", "chembl", "source", "title",
))
# fmt: on
_IDENTIFIER_ENDS = ("_id", "_ids", "_no", "_nr", "_idx", "_name")
_SPLIT_NAMES = frozenset(("split", "fold", "folds", "cv", "cv_fold", "set", "subset", "partition"))
_FEW = 3  # rows below which nothing can be said of what repeats itself
_NEARLY_ALL = 0.95


class Labels(NamedTuple):
    """Where the labels of a table are."""

    columns: tuple[int, ...]
    words: bool = False
    """One column of class names, not numbers."""
    unused: str = ""
    """The other columns, each with the reason where there is one to tell."""


class _Guess(NamedTuple):
    """What a column may be: a label of a task, or why not."""

    task: Task | None
    words: bool = False
    why_not: str = ""


def find_labels(
    table: Table, names: Sequence[str] | None, taken: set[int | None], task: Task | None
) -> Labels:
    """The columns called ``names``; without names those that can only be labels of one task."""
    free = [at for at in range(len(table.header)) if at not in taken]
    if names is not None:
        return _named(table, names, free, task)
    guesses = {at: _guess(table, at) for at in free}
    candidates = {at: guess for at, guess in guesses.items() if guess.task is not None}
    chosen = _of_task(candidates, task)
    kinds = {guess.task for guess in chosen.values()}
    several = len(chosen) > 1
    if not chosen:
        listed = quoted([(table.header[at], guesses[at].why_not) for at in free])
        raise DataError(
            f"{table.path}: cannot tell which columns are labels; name them with --label "
            f"(beside the SMILES: {listed or 'no column'})"
        )
    if several and (len(kinds) > 1 or kinds == {"multiclass"}) and task != "regression":
        listed = quoted([(table.header[at], guess.task or "") for at, guess in chosen.items()])
        raise DataError(
            f"{table.path}: these columns may be labels, and one training has labels of one kind: "
            f"{listed}; name those to be learned with --label"
        )
    unused = [
        (table.header[at], guess.why_not or f"{guess.task}, other than the labels")
        for at, guess in guesses.items()
        if at not in chosen
    ]
    words = any(guess.words for guess in chosen.values())
    return Labels(tuple(chosen), words, quoted(unused))


def _of_task(candidates: dict[int, _Guess], task: Task | None) -> dict[int, _Guess]:
    """The candidates of the task; where there is none, those that can be read as such."""
    if task is None:
        return candidates
    exact = {at: guess for at, guess in candidates.items() if guess.task == task}
    return exact or {at: guess for at, guess in candidates.items() if not guess.words}


def _named(table: Table, names: Sequence[str], free: list[int], task: Task | None) -> Labels:
    columns = tuple(dict.fromkeys(table.position(name) for name in names))
    for at in columns:
        if at not in free:
            raise DataError(
                f"{table.path}: column {table.header[at]!r} cannot be a label: it holds the "
                "molecules, the split or the times"
            )
        if not table.numbers(at).filled:
            raise DataError(f"{table.path}: label column {table.header[at]!r} has no value")
    words = task in (None, "multiclass") and len(columns) == 1
    words = words and not table.numbers(columns[0]).numeric
    if task is None and len(columns) > 1:
        kinds = {at: infer_task(table.numbers(at).values[:, None]) for at in columns}
        if "binary" in kinds.values() and set(kinds.values()) != {"binary"}:
            listed = quoted([(table.header[at], kind) for at, kind in kinds.items()])
            raise DataError(
                f"{table.path}: one training has labels of one kind, and these are of several: "
                f"{listed}; leave some out of --label, or give --task regression for all"
            )
    unused = [(table.header[at], "") for at in free if at not in columns]
    return Labels(columns, words, quoted(unused))


def _guess(table: Table, at: int) -> _Guess:
    numbers = table.numbers(at)
    name = re.sub(r"[^a-z0-9]+", "_", table.header[at].lower()).strip("_")
    if not numbers.filled:
        return _Guess(None, why_not="no value in any row")
    if name in _IDENTIFIERS or name.endswith(_IDENTIFIER_ENDS) or name.startswith("unnamed"):
        return _Guess(None, why_not="called like an identifier")
    if not name and at == 0:
        return _Guess(None, why_not="no name, like the index of a data frame")
    if name in _SPLIT_NAMES:
        return _Guess(None, why_not="called like a split; use it with --split-column")
    if numbers.numeric:
        return _guess_numbers(numbers.values[~np.isnan(numbers.values)], numbers.values)
    words = table.words(at)
    if all(map(is_part, words)):
        return _Guess(None, why_not="names the parts of a split; use it with --split-column")
    why_not = _repeats(words, "word")
    return _Guess(None, why_not=why_not) if why_not else _Guess("multiclass", words=True)


def _guess_numbers(filled: np.ndarray, values: np.ndarray) -> _Guess:
    found = np.unique(filled)
    whole = bool((found == np.floor(found)).all())
    counted = whole and len(found) > 0 and found[0] in (0, 1) and found[-1] - found[0] < len(found)
    if whole and counted and len(found) == len(filled) >= _FEW:
        return _Guess(None, why_not="counts the rows")
    why_not = _repeats(filled.tolist(), "whole number", constant_only=not whole)
    if why_not:
        return _Guess(None, why_not=why_not)
    return _Guess(infer_task(values[:, None]))


def _repeats(filled: Sequence[object], what: str, constant_only: bool = False) -> str:
    """Why values that repeat themselves always or never are no label."""
    different, count = len(set(filled)), len(filled)
    if different == 1 and count > 1:
        return "the same value in every row"
    if not constant_only and count >= _FEW and different >= _NEARLY_ALL * count:
        return f"a different {what} in {'every' if different == count else 'nearly every'} row"
    return ""


def wrong_labels(table: Table, labels: Labels, task: Task | None) -> dict[int, list[str]]:
    """Row -> why each of its labels that cannot be taken is wrong."""
    found: dict[int, list[str]] = {}

    def add(at: int, rows: Iterable[int], reason: str) -> None:
        for row in rows:
            text = f"label {shown(table.rows[row][at])} in column {table.header[at]!r} {reason}"
            found.setdefault(row, []).append(text)

    for at in labels.columns:
        cells = table.column(at)
        if labels.words:
            add(at, (row for row, cell in enumerate(cells) if is_missing(cell)), "is no class")
            odd = (row for row, cell in enumerate(cells) if not cell.strip().isprintable())
            add(at, odd, "contains what cannot be printed")
            continue
        numbers = table.numbers(at)
        right = ~np.isnan(numbers.values)
        for row, cell in enumerate(cells) if numbers.wrong else ():
            if cell in numbers.wrong:
                add(at, [row], numbers.wrong[cell])
        if task == "binary":
            unfit = np.flatnonzero(right & ~np.isin(numbers.values, (0, 1)))
            add(at, unfit.tolist(), "is not 0, 1 or empty")
        elif task == "multiclass":
            unfit = np.flatnonzero(~right | (numbers.values != np.floor(numbers.values)))
            rows = [row for row in unfit.tolist() if cells[row] not in numbers.wrong]
            add(at, rows, "is not a class number")
    return found
