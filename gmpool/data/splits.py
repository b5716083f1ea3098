"""Which graphs are for training, validation and test."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from gmpool.errors import DataError, unknown

_PARTS = {
    "train": "train",
    **dict.fromkeys(("valid", "val", "validation", "dev"), "valid"),
    "test": "test",
}


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint int64 id tensors."""

    train: Tensor
    valid: Tensor
    test: Tensor

    @property
    def digest(self) -> str:
        """SHA-256 of the ids, in order."""
        parts = [self.train.tolist(), self.valid.tolist(), self.test.tolist()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def __repr__(self) -> str:
        sizes = f"{self.train.numel()}/{self.valid.numel()}/{self.test.numel()}"
        return f"Split(train/valid/test = {sizes})"


@cache
def published_folds() -> dict[str, str]:
    """Set -> one character per graph: the part it is in, or '-' for always in training."""
    loaded: dict[str, str] = json.loads(Path(__file__).with_name("folds.json").read_text())
    return loaded


def ten_folds(name: str) -> tuple[Split, ...]:
    """The published ten folds of a TU set.

    Fold f is tested on part f, validated on part f-1 (the first on part ten), trained on the rest.
    """
    if name not in published_folds():
        raise unknown("set with published folds", name, published_folds())
    codes = torch.tensor([-1 if c == "-" else int(c) for c in published_folds()[name]])
    return rotate(codes, 10)


def rotate(part: Tensor, k: int) -> tuple[Split, ...]:
    """k folds: fold f is tested on part f, validated on part f-1 (the first on the last).

    part: int64 [G], each graph's part in 0..k-1, or -1 for always in training.
    """
    folds = []
    for fold in range(k):
        test, valid = part == fold, part == (fold - 1) % k
        train = ~(test | valid)
        folds.append(Split(_where(train), _where(valid), _where(test)))
    return tuple(folds)


def _where(mask: Tensor) -> Tensor:
    return mask.nonzero().squeeze(1)


def stratified_folds(y: Tensor, k: int = 10, seed: int = 0) -> tuple[Split, ...]:
    """k folds for a set without published ones, the same for the same (y, k, seed).

    Classes, or the two answers of a single yes/no column, are spread evenly over the folds; with
    several columns or regression targets the folds are random. Fold f is validated on part f-1.
    """
    n = y.size(0)
    if not 3 <= k <= n:
        raise DataError(f"cannot make {k} folds of {n} graphs: k must be from 3 to {n}")
    values = y.reshape(n, -1)[:, 0].cpu().nan_to_num(2.0)  # missing is a third answer
    classes = y.numel() == n and not y.is_floating_point()
    answers = y.numel() == n and bool(torch.isin(values, torch.tensor([0.0, 1.0, 2.0])).all())
    if not (classes or answers):
        values = torch.zeros(n)
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(n, generator=generator)
    # Dealing the graphs out class by class keeps both the classes and the sizes even.
    dealt = shuffled[torch.sort(values[shuffled], stable=True).indices]
    part = torch.empty(n, dtype=torch.int64)
    part[dealt] = torch.arange(n) % k
    return rotate(part, k)


def part_sizes(n: int, fractions: tuple[float, float, float]) -> tuple[int, int, int]:
    """How many of n graphs are for training, validation and test; every part with a positive
    fraction gets at least one."""
    if min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6:
        raise DataError(f"fractions must be positive and sum to 1 (got {fractions})")
    wanted = sum(f > 0 for f in fractions)
    if n < wanted:
        raise DataError(f"cannot split {n} graphs into {wanted} parts")
    valid, test = (max(round(n * f), 1) if f > 0 else 0 for f in fractions[1:])
    while valid + test > n - (fractions[0] > 0):  # rounding has left nothing for training
        valid, test = (valid - 1, test) if valid > test else (valid, test - 1)
    return n - valid - test, valid, test


def random_split(
    n: int, seed: int = 0, fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
) -> Split:
    """A random split of n graphs; every part with a positive fraction gets at least one graph."""
    sizes = part_sizes(n, fractions)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return Split(*(part.sort().values for part in order.split(sizes)))


def is_part(word: str) -> bool:
    """Whether a word names a part of a split."""
    return word.strip().lower() in _PARTS


def from_column(
    values: Sequence[str], *, where: str = "split column", lines: Sequence[int] | None = None
) -> Split:
    """A split from one word per graph: train, valid (or val, validation, dev), test.

    ``lines`` gives the line of each value in the file ``where``, for the error message.
    """
    ids: dict[str, list[int]] = {"train": [], "valid": [], "test": []}
    for row, value in enumerate(values):
        part = _PARTS.get(value.strip().lower())
        if part is None:
            raise _not_a_part(
                value, "train, valid (or val, validation, dev), test", where, row, lines
            )
        ids[part].append(row)
    return Split(*(torch.tensor(ids[p], dtype=torch.int64) for p in ("train", "valid", "test")))


def folds_from_column(
    values: Sequence[float], *, where: str = "split column", lines: Sequence[int] | None = None
) -> tuple[Split, ...]:
    """k folds from one number per graph, 0 to k-1 or 1 to k: each fold is tested once, and the one
    before it is then for validation."""
    for row, value in enumerate(values):
        if not float(value).is_integer() or not 0 <= value <= len(values):
            shown = "" if value != value else f"{value:g}"
            raise _not_a_part(shown, "the numbers of the folds, 0, 1, 2 …", where, row, lines)
    found = sorted({int(value) for value in values})
    k = len(found)
    if k < 3 or found != list(range(found[0], found[0] + k)) or found[0] > 1:
        raise DataError(
            f"{where}: the split column must hold at least three folds, 0 to k-1 or 1 to k "
            f"(got {', '.join(map(str, found[:9]))}); else write train, valid and test"
        )
    return rotate(torch.tensor([int(value) - found[0] for value in values]), k)


def _not_a_part(
    value: str, allowed: str, where: str, row: int, lines: Sequence[int] | None
) -> DataError:
    place = f"{where}:{lines[row]}" if lines is not None else f"{where}, row {row}"
    return DataError(
        f"{place}: split {value[:60]!r} is not one of {allowed}; correct it, or take no notice of "
        "the column with --split-column none"
    )


def with_validation(split: Split, y: Tensor | None, where: str) -> Split:
    """A tenth of the training part for validation where a split has none, spread evenly over the
    classes, always the same."""
    count = len(split.train)
    if count < 3:
        raise DataError(
            f"{where}: the split has no valid part, and {count} graphs of train are too few to "
            "take one from; write valid in some rows, or take a random split with "
            "--split-column none"
        )
    labels = torch.zeros(count) if y is None else y[split.train]
    inner = stratified_folds(labels, min(10, count))[0]
    kept = torch.cat([inner.train, inner.valid]).sort().values
    return Split(split.train[kept], split.train[inner.test], split.test)
