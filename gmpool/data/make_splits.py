"""Splits that are made of the graphs of a set: random, stratified, by scaffold, or by time."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from gmpool.data.dataset import Dataset
from gmpool.data.dealing import Ints, deal
from gmpool.data.kept_together import Groups, groups_of, labels_of
from gmpool.data.ordered_splits import scaffold_parts, time_parts
from gmpool.data.split_request import FOLDED_WORDS, SplitRequest
from gmpool.data.split_words import described, in_words
from gmpool.data.splits import Split, part_sizes, random_split, rotate
from gmpool.errors import DataError, UserError

MOST_IDS = 10**8
"""Of all folds together: more would fill the memory."""
MOST_TRIES = 100
"""For a repeat of which no fold is there already: that would be the same run again."""


def with_splits(
    dataset: Dataset,
    split: str | None = None,
    *,
    folds: int | None = None,
    repeats: int | None = None,
    split_seed: int | None = None,
    split_sizes: str | Sequence[float] | None = None,
) -> Dataset:
    """The set with other splits: "random", "stratified", or of molecules "scaffold".

    One split in the shares ``split_sizes`` (percent; 80, 10, 10), or so many ``folds``, each graph
    tested once, and that ``repeats`` times with other shuffles. ``split_seed`` gives other ones.
    Without a kind, ``folds`` takes the first of those that the set has. A molecule that is there
    several times is in one part.
    """
    return split_as(dataset, SplitRequest.of(split, folds, repeats, split_seed, split_sizes))


def split_as(dataset: Dataset, request: SplitRequest) -> Dataset:
    """The set with the splits of a request, or those it has where that asks for none."""
    if not request.is_made:
        request.require_nothing_made(f"{dataset.name} has {_counted(dataset)}")
        return first_folds(dataset, request.folds)
    groups = groups_of(dataset, request.kind)
    _check_counts(dataset, request, groups)
    if request.folds is None:
        folds: tuple[Split, ...] = (_one(dataset, request, groups),)
    else:
        folds = _folded(dataset, request, groups)
    return replace(
        dataset,
        folds=folds,
        split_reason=in_words(dataset, request, groups, folds),
        split_kind=described(dataset, request, groups),
    )


def first_folds(dataset: Dataset, folds: int | None) -> Dataset:
    """So many of the folds that a set has."""
    have = len(dataset.folds)
    if folds is None or folds == have:
        return dataset
    if not 1 <= folds < have:
        way_out = f"take 1 to {have}" if have > 1 else "leave --folds out"
        raise UserError(
            f"{dataset.name} has {_counted(dataset)}, got --folds {folds}; {way_out}, or have "
            f"folds made with {FOLDED_WORDS}"
        )
    reason = f"{dataset.split_reason}, the first {folds} of {have}".removeprefix(", ")
    return replace(dataset, folds=dataset.folds[:folds], split_reason=reason)


def _counted(dataset: Dataset) -> str:
    have = len(dataset.folds)
    return f"{have} folds" if have > 1 else "one split, not folds" if have else "no split"


def _check_counts(dataset: Dataset, request: SplitRequest, groups: Groups) -> None:
    have, parts = len(groups.sizes), request.folds or sum(share > 0 for share in request.shares)
    if have < parts:
        fewer = f"--folds {have} or fewer" if request.folds and have > 2 else "more data"
        other = ", or --split random or stratified" if request.kind == "scaffold" else ""
        raise DataError(
            f"{dataset.name} has {have:,} {groups.what}, too few for {parts} "
            f"{'folds' if request.folds else 'parts'}; take {fewer}{other}"
        )
    count = (request.folds or 1) * request.repeats
    if count * len(dataset) > MOST_IDS:
        raise UserError(
            f"{count:,} folds of {len(dataset):,} graphs are more than fit into memory; take fewer "
            "--folds or --repeats"
        )


def _one(dataset: Dataset, request: SplitRequest, groups: Groups) -> Split:
    sizes, fractions = groups.sizes, request.fractions
    targets = part_sizes(len(dataset), fractions)
    if request.kind == "random" and len(sizes) == len(dataset):
        return random_split(len(dataset), request.seed, fractions)  # the one that nobody asked for
    if request.kind == "scaffold":
        part = scaffold_parts(sizes, request.shares)
    elif request.kind == "time":
        part = _in_time(dataset, groups, targets)
    else:
        least = min(share for share in fractions if share)
        part = deal(sizes, targets, request.generator(), _labels(dataset, request, groups, least))
    of_graph = torch.from_numpy(part[groups.of])
    return Split(*((of_graph == number).nonzero().squeeze(1) for number in range(3)))


def _in_time(dataset: Dataset, groups: Groups, targets: Sequence[int]) -> Ints:
    if dataset.times is None:
        raise UserError(f"--split time is for tables with a column of times, not {dataset.name}")
    part = time_parts(dataset.times.values.numpy(), groups.of, targets)
    if part is None:
        raise DataError(
            f"{dataset.name}: column {dataset.times.column!r} has fewer different times than the "
            "split has parts; take --split random"
        )
    return part


def _folded(dataset: Dataset, request: SplitRequest, groups: Groups) -> tuple[Split, ...]:
    count, k = len(dataset), request.folds or 1
    targets = [count // k + (fold < count % k) for fold in range(k)]
    labels, generator = _labels(dataset, request, groups, 1 / k), request.generator()
    made: dict[str, Split] = {}
    tries = 0
    while len(made) < k * request.repeats:
        part = torch.from_numpy(deal(groups.sizes, targets, generator, labels)[groups.of])
        # In another order, or the largest group would be validated on the next one in each repeat.
        folds = rotate(torch.randperm(k, generator=generator)[part], k)
        digests = [split.digest for split in folds]
        if made.keys().isdisjoint(digests):
            made |= zip(digests, folds, strict=True)
            tries = 0
        elif (tries := tries + 1) == MOST_TRIES:
            raise DataError(
                f"{dataset.name}: {len(groups.sizes):,} {groups.what} make only "
                f"{len(made) // k} different shuffles of {k} folds; take fewer --repeats"
            )
    return tuple(made.values())


def _labels(
    dataset: Dataset, request: SplitRequest, groups: Groups, least_share: float
) -> Ints | None:
    if request.kind != "stratified":
        return None
    return labels_of(dataset, groups, np.arange(len(dataset)), least_share)
