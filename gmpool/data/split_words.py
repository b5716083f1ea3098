"""What is told of a split that was made: in words, and for a program to read."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from gmpool.data.dataset import Dataset
from gmpool.data.kept_together import Groups
from gmpool.data.ordered_splits import Times
from gmpool.data.split_request import SplitRequest
from gmpool.data.splits import Split


def described(dataset: Dataset, request: SplitRequest, groups: Groups) -> dict[str, Any]:
    """`Dataset.split_kind`."""
    said: dict[str, Any] = {"kind": request.kind}
    if request.folds is None:
        said["sizes"] = list(request.shares)
    else:
        said |= {"folds": request.folds, "repeats": request.repeats}
    if not request.is_fixed:
        said["seed"] = request.seed
    if request.kind == "time" and dataset.times is not None:
        said["column"] = dataset.times.column
    if dataset.molecules is not None:
        said["groups"] = "scaffold" if request.kind == "scaffold" else "molecule"
        said["repeated_molecules"] = dataset.molecules.repeated
    if request.kind == "scaffold":
        said["scaffolds"] = len(groups.sizes)
    return said


def in_words(
    dataset: Dataset, request: SplitRequest, groups: Groups, folds: Sequence[Split]
) -> str:
    """`Dataset.split_reason`."""
    how = str(request.kind)
    if request.folds is None:
        how += " " + "/".join(f"{share:g}" for share in request.shares)
    elif request.repeats > 1:
        how += f", {request.folds} folds × {request.repeats} repeats"
    seed = "always the same" if request.is_fixed else f"seed {request.seed}"
    return "; ".join([f"{how}, {seed}", *_notes(dataset, request, groups, folds)])


def _notes(
    dataset: Dataset, request: SplitRequest, groups: Groups, folds: Sequence[Split]
) -> Iterator[str]:
    if request.kind == "scaffold":
        sizes = groups.sizes
        yield f"{len(sizes):,} scaffolds, the largest of {int(sizes.max()):,} molecules"
    if request.kind == "time" and dataset.times is not None:
        yield from _when(dataset.times, folds[0])
    if dataset.molecules is not None and (many := dataset.molecules.repeated):
        rows = "molecule is" if many == 1 else "molecules are"
        yield f"{many:,} {rows} in several rows, all in one part"
    tested = [len(split.test) for split in folds]
    if max(tested) - min(tested) > 1:
        yield f"from {min(tested):,} to {max(tested):,} are tested"


def _when(times: Times, split: Split) -> Iterator[str]:
    """From when on is tested: a molecule of the test part may also have been measured before."""
    before = torch.cat([times.values[split.train], times.values[split.valid]])
    later = split.test[times.values[split.test] > before.max()]
    if len(later):
        first = int(later[times.values[later].argmin()])
        yield f"tested from {times.words[first]} on in column {times.column!r}"
