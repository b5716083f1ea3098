"""What was read, in plain lines, so that it can be seen before anything is trained."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from gmpool.data.packed_fields import PackedFields
from gmpool.data.split_request import FOLDED_WORDS
from gmpool.data.splits import Split

_SHOWN = 4


def what_was_understood(
    graphs: PackedFields,
    folds: Sequence[Split],
    about: tuple[str, ...],
    split_reason: str,
    cut_molecules: int = 0,
) -> tuple[str, ...]:
    """about: the lines of the source; without any, the graphs are counted. cut_molecules: those
    that are in several parts."""
    labels = [] if graphs.y is None else [_labels(graphs, graphs.y.cpu())]
    splits = _splits(folds, split_reason)
    warnings = (*_warnings(graphs, folds), *_cut(cut_molecules))
    return (*(about or _counted(graphs)), *labels, *splits, *warnings)


def _counted(graphs: PackedFields) -> tuple[str, ...]:
    if not graphs.num_graphs:
        return (f"{graphs.name}: no graphs",)
    sizes = graphs.sizes
    nodes = f"{int(sizes.min()):,} to {int(sizes.max()):,} nodes" if len(sizes) > 1 else ""
    nodes = nodes or f"{graphs.num_nodes:,} nodes"
    plural = "s of" if graphs.num_graphs > 1 else " with"
    return (f"{graphs.name}: {graphs.num_graphs:,} graph{plural} {nodes}",)


def _labels(graphs: PackedFields, y: Tensor) -> str:
    """'active' (binary: 812 yes, 377 no, 14 gaps)"""
    names = [repr(name) for name in graphs.task_names]
    if graphs.task == "multiclass":
        counts = torch.bincount(y, minlength=graphs.num_classes).tolist()
        each = [f"{n:,} {name!r}" for name, n in zip(graphs.class_names, counts, strict=True)]
        more = f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else ""
        what = f"{len(each)} classes: {', '.join(each[:_SHOWN])}{more}"
        return f"labels: {', '.join(names) or 'given'} (multiclass, {what})"
    listed = names if len(names) <= _SHOWN else [names[0], "…", names[-1]]
    count = "" if len(names) == 1 else f"{len(names)} columns, "
    gaps = int(torch.isnan(y).sum())
    tail = f", {_counts(gaps, 'gap')}" if gaps else ""
    filled = y[~torch.isnan(y)]
    if graphs.task == "binary":
        yes = int(filled.sum())
        what = f"binary: {yes:,} yes, {len(filled) - yes:,} no{tail}"
    elif len(filled):
        what = f"regression: {float(filled.min()):g} to {float(filled.max()):g}{tail}"
    else:
        what = f"regression{tail}"
    return f"labels: {count}{', '.join(listed)} ({what})"


def _splits(folds: Sequence[Split], reason: str) -> Iterator[str]:
    if not folds:
        return
    first = folds[0]
    parts = ((first.train, "train"), (first.valid, "valid"), (first.test, "test"))
    sizes = ", ".join(f"{len(ids):,} {name}" for ids, name in parts)
    why = f" ({reason})" if reason else ""
    if len(first.train) == 1 and torch.equal(first.train, first.test):
        yield "split: one graph for all"
    elif len(folds) > 1:
        yield f"folds: {len(folds)}{why}; the first: {sizes}"
    else:
        yield f"split: {sizes}{why}"


def _warnings(graphs: PackedFields, folds: Sequence[Split]) -> Iterator[str]:
    """Where one class only makes scores that say nothing."""
    if graphs.y is None or graphs.task not in ("multiclass", "binary"):
        return
    y = graphs.y.reshape(graphs.num_graphs, -1).float().cpu()  # [G, T]
    alone = _one_class(y)
    if alone.any():
        yield f"warning: {_columns(graphs, alone)} one class only: its scores will be undefined"
    for part in ("valid", "test"):
        ids = [getattr(split, part) for split in folds]
        bad = [_one_class(y[each]) & ~alone for each in ids if len(each)]
        count = sum(bool(each.any()) for each in bad)
        if count:
            columns = torch.stack(bad).any(0)
            where = f"the {part} part" if len(folds) == 1 else f"the {part} part of {count} folds"
            yield (
                f"warning: in {where} {_columns(graphs, columns)} one class only: "
                "its scores there will be undefined"
            )


def _cut(molecules: int) -> Iterator[str]:
    if molecules:
        are = "molecule is" if molecules == 1 else "molecules are"
        yield (
            f"warning: {molecules:,} {are} in several rows that lie in several parts of the split; "
            f"{FOLDED_WORDS} keeps each in one part"
        )


def _one_class(y: Tensor) -> Tensor:
    """bool [T]: whether a column has values, and all are the same."""
    low = y.nan_to_num(float("inf")).amin(0) if len(y) else y.new_zeros(y.size(1))
    high = y.nan_to_num(float("-inf")).amax(0) if len(y) else y.new_ones(y.size(1))
    return low == high


def _columns(graphs: PackedFields, mask: Tensor) -> str:
    names = [repr(n) for n, bad in zip(graphs.task_names, mask.tolist(), strict=False) if bad]
    if len(names) > _SHOWN:
        return f"{len(names)} columns have"
    return f"{', '.join(names) or 'the labels'} {'have' if len(names) > 1 else 'has'}"


def _counts(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
