"""Dataset: graphs, the splits to use with them, and the score that is reported for them. One door
to all of them, by name or by path, and the sources behind it: whatever lies in ``sources/``."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch

from gmpool.atomic_files import PathLike
from gmpool.data.batch import GraphBatch, Ids
from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.molecule_groups import MoleculeGroups
from gmpool.data.ordered_splits import Times
from gmpool.data.packed import PackedGraphs
from gmpool.data.splits import Split, stratified_folds
from gmpool.data.understood import what_was_understood
from gmpool.errors import DataError, UserError, WrongType, unknown
from gmpool.registry import Registry

Metric = Literal["accuracy", "roc_auc", "rmse", "nrmse"]
METRICS: dict[str, Metric] = {"multiclass": "accuracy", "binary": "roc_auc", "regression": "rmse"}
_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Dataset:
    """What an experiment reads: a set of graphs by its name, and its splits."""

    name: str
    graphs: PackedGraphs
    folds: tuple[Split, ...]
    """Ten for a TU set, one for a molecule table; none for unlabelled data without a split."""
    metric: Metric | None
    """None for unlabelled data."""
    skipped: tuple[str, ...] = ()
    """Rows of a table that were left out, as file:line: reason."""
    lines: tuple[int, ...] = ()
    """Of a table: the line that each graph stood on."""
    about: tuple[str, ...] = ()
    """Lines on how its source understood it."""
    split_reason: str = ""
    """Where its splits come from."""
    split_kind: Mapping[str, Any] = field(default_factory=dict)
    """The same for a program to read: "kind" (random, stratified, scaffold, time, column) and what
    else was asked for. Empty where the splits came with the data."""
    molecules: MoleculeGroups | None = None
    """Of a user's own molecules: which are equal, and their scaffolds."""
    times: Times | None = None
    """Of a table that is split by time."""

    @classmethod
    def of(
        cls,
        graphs: PackedGraphs,
        folds: tuple[Split, ...] | None = None,
        skipped: tuple[str, ...] = (),
        *,
        about: tuple[str, ...] = (),
        split_reason: str = "",
        lines: tuple[int, ...] = (),
        molecules: MoleculeGroups | None = None,
        times: Times | None = None,
    ) -> Dataset:
        """A set with the metric of its labels, and with its own splits. Without any, labelled
        graphs get ten stratified folds (fewer where there are fewer graphs than ten)."""
        kind: dict[str, Any] = {}
        if folds is None:
            enough = graphs.y is not None and graphs.num_graphs >= 3
            folds = _stratified(graphs) if enough else ()
            split_reason = "stratified, always the same" if enough else ""
            kind = {"kind": "stratified", "folds": len(folds), "repeats": 1, "seed": 0}
        metric = None if graphs.task is None else metric_for(graphs.task, graphs.num_outputs)
        return cls(
            graphs.name, graphs, folds, metric, skipped, lines, about, split_reason,
            kind if folds else {}, molecules, times,
        )  # fmt: skip

    def __len__(self) -> int:
        return self.graphs.num_graphs

    @property
    def digest(self) -> str:
        """Of the graphs' content; the splits have digests of their own."""
        return self.graphs.digest

    @property
    def understood(self) -> tuple[str, ...]:
        """What was read, in a few lines: where from, which labels, which splits, and warnings."""
        kept = self.molecules is None or "groups" in self.split_kind or not find_spec("rdkit")
        cut = 0 if kept or self.molecules is None else self.molecules.cut_by(self.folds)
        return what_was_understood(self.graphs, self.folds, self.about, self.split_reason, cut)

    def to(self, device: torch.device | str) -> Dataset:
        """The same graphs on another device; batches are then made there."""
        return replace(self, graphs=self.graphs.to(device))

    def batches(
        self, ids: Ids, batch_size: int, generator: torch.Generator | None = None
    ) -> Iterator[GraphBatch]:
        """All graphs ``ids`` once; a generator shuffles them, without one order stays."""
        return epoch_batches(self.graphs, ids, batch_size, generator)


def metric_for(task: str, num_outputs: int) -> Metric:
    """The one score that counts. Several regression targets have units of their own, so that their
    errors are told in deviations of each before they are averaged."""
    return "nrmse" if task == "regression" and num_outputs > 1 else METRICS[task]


def _stratified(graphs: PackedGraphs) -> tuple[Split, ...]:
    assert graphs.y is not None
    return stratified_folds(graphs.y, min(_FOLDS, graphs.num_graphs))


@dataclass(frozen=True, kw_only=True)
class Source:
    """One kind of data that ``load`` opens."""

    load: Callable[..., Dataset]
    """Reads a name or path that is its kind; the second argument is the folder to search first,
    the others are its options."""
    names: Callable[[], Collection[str]] = tuple
    """The names of sets that are its kind. A name goes before a file that is called the same."""
    accepts: Callable[[Path], bool] = lambda path: False
    """Whether a path is its kind, by its ending or by what lies there."""
    files: str = ""
    """The paths it accepts, for messages."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The options of ``load`` and the flag that commands have for each. One without a flag ("")
    says how a task wants its data; other sources take no notice of it."""
    what: str = ""
    """What its options are for, for messages."""


SOURCES: Registry[Source] = Registry(
    "source", package="gmpool.data.sources", group="gmpool.sources"
)


def source_of(name: str) -> Source | None:
    """The source that a name or path is for; None where no source knows it."""
    known = [SOURCES[each] for each in SOURCES]
    named = (source for source in known if name in source.names())
    accepting = (source for source in known if source.accepts(Path(name)))
    return next(named, None) or next(accepting, None)


def load(name_or_path: PathLike, root: PathLike | None = None, **options: Any) -> Dataset:
    """A dataset by name, or from a path: a table (.csv, .tsv, also .gz or .xz), a TU folder or
    zip, or a packed .safetensors file; in short, whatever one of ``SOURCES`` knows.

    Files of named sets are looked for in ``root``, else in $GMPOOL_DATA, then in the user's cache;
    TU sets are downloaded when missing. Checksums are verified. ``options`` are those of the
    source, such as ``smiles_column`` of a table.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise WrongType(
            f"load takes a name or a path (got {type(name_or_path).__name__}); a DataFrame is for "
            "gmpool.data.load_table"
        )
    name = os.fspath(name_or_path)
    source = source_of(name)
    if source is not None:
        return source.load(name, root, **_taken(options, source, name))
    path = Path(name)
    known = [SOURCES[each] for each in SOURCES]
    if path.exists():
        files = ", ".join(each.files for each in known if each.files)
        raise DataError(f"{path}: not a kind of file that can be read (known: {files})")
    if path.suffix or os.sep in name:
        raise DataError(f"{path}: no such file or folder")
    raise unknown("dataset", name, [each for source in known for each in source.names()])


def _taken(options: Mapping[str, Any], source: Source, name: str) -> dict[str, Any]:
    """The options that the source has. What is empty asks for nothing that it could lack."""
    every = [SOURCES[each] for each in SOURCES]
    known = {key: flag for each in every for key, flag in each.options.items()}
    for key, value in options.items():
        if key not in known:
            raise unknown("option of data", key, known)
        if value and known[key] and key not in source.options:
            what = " or ".join(each.what for each in every if key in each.options)
            raise UserError(f"{known[key]} is for {what}, and {name!r} is not one")
    return {key: value for key, value in options.items() if key in source.options}
