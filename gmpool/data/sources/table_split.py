"""Which split the molecules of a table get: that of a column, one that is made, or the random one
of a table that says nothing."""

from dataclasses import replace
from typing import Any, NamedTuple

from gmpool.data.dataset import Dataset
from gmpool.data.make_splits import first_folds, split_as
from gmpool.data.split_request import NO_SPLIT, SHARES, SplitRequest
from gmpool.data.splits import Split, random_split, with_validation
from gmpool.errors import DataError, UserError


class ColumnSplit(NamedTuple):
    """What a column says."""

    name: str
    folds: tuple[Split, ...]
    path: str
    """Of the table."""


def split_table(
    dataset: Dataset,
    request: SplitRequest,
    column: ColumnSplit | None,
    *,
    none_asked: bool,
    learned: bool,
) -> Dataset:
    """The molecules of a table with their splits.

    none_asked: whether ``--split-column none`` was said. learned: whether anything is learned of
    them; else they have a split where one is asked for.
    """
    if column is not None:
        return _by_column(dataset, request, column)
    if request.kind == "column":
        raise UserError(
            f"{dataset.name}: no column says train, valid or test; name one with --split-column, "
            "or take --split random"
        )
    if request.is_made:
        return split_as(dataset, request)
    if request != SplitRequest():
        return split_as(dataset, request.as_random())
    if not learned or len(dataset) < 3:
        return dataset
    why = "as asked" if none_asked else "because no column says train, valid or test"
    return replace(
        dataset,
        folds=(random_split(len(dataset)),),
        split_reason=f"random 80/10/10, always the same, {why}",
        split_kind={"kind": "random", "sizes": list(SHARES), "seed": 0},
    )


def _by_column(dataset: Dataset, request: SplitRequest, column: ColumnSplit) -> Dataset:
    request.require_nothing_made(f"the split is that of column {column.name!r}")
    kind: dict[str, Any] = {"kind": "column", "column": column.name}
    folds, reason = column.folds, f"column {column.name!r}"
    first = folds[0]
    if len(folds) > 1:
        kind["folds"] = len(folds)
    elif not len(first.valid):
        if not len(first.test):
            raise DataError(
                f"column {column.name!r} of {column.path} names one part only; write train, valid "
                f"and test, or take a random split with --split-column {NO_SPLIT}"
            )
        folds = (with_validation(first, dataset.graphs.y, dataset.name),)
        reason += ", which names no valid part: a tenth of train, always the same"
        kind["valid"] = "a tenth of train"
    found = replace(dataset, folds=folds, split_reason=reason, split_kind=kind)
    return first_folds(found, request.folds)
