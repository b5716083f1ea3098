"""What tasks have in common whose examples are the graphs of one set."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gmpool.data import CATALOGUE, Card, Dataset, Split, card, load
from gmpool.data.dataset import source_of
from gmpool.errors import unknown
from gmpool.graph.reads import batches_for, reads_of
from gmpool.pool import METHODS
from gmpool.pool.haarpool.fixed_chain import ChainBatches
from gmpool.tasks.protocols import FixedBatches
from gmpool.tasks.task import Flag, Task
from gmpool.tasks.trainable import Trainable

TABLE_FLAGS = (
    Flag("smiles_column", str, "Table: the column with SMILES."),
    Flag("label", str, "Table: a label column.", repeat=True),
    Flag("task", str, "Table: multiclass, binary or regression; default inferred."),
    Flag(
        "split_column",
        str,
        "Table: the column that says train, valid or test, or the number of a fold; none: "
        "whatever the columns say, a random split.",
    ),
    Flag(
        "split",
        str,
        "Own data: random, stratified, or of a table scaffold, time or column; default: a split "
        "column, else random.",
    ),
    Flag("time_column", str, "Table: the column with dates or numbers for --split time."),
    Flag("split_seed", int, "Own data: draws another split of the kind; default 0."),
    Flag("split_sizes", str, "Own data: percent of train, valid and test; default 80,10,10."),
    Flag("skip_bad_rows", bool, "Table: leave unusable rows out instead of stopping.", False),
    Flag("skip_bad_labels", bool, "Table: leave unusable labels out, and keep their rows.", False),
)
FOLD_FLAGS = (
    Flag(
        "folds",
        int,
        "So many folds: made of a table, or with --split; else the first of those a set has.",
    ),
    Flag("repeats", int, "Own data: the folds again with other shuffles, so many times in all."),
)
"""Of a task that takes all folds of a set."""


class OpensSets(Task):
    """Whose data are given by name or path, as `gmpool.data.load` takes them."""

    def card(self, name: str) -> Card | None:
        return card(name) if name in CATALOGUE else None  # whose digests may not be known

    def read(self, source: str, root: Path | None, *, label: Any = None, **options: Any) -> Dataset:
        """Opens a set with the options of TABLE_FLAGS, and others of its source."""
        return load(source, root, label_columns=label or None, **options)

    def own(self, text: str, folder: Path, **options: Any) -> Any:
        return self.open(self._place(text, folder), **options)

    def takes(self, text: str, folder: Path) -> Collection[str]:
        return self.flags_for(self._place(text, folder))

    def flags_for(self, source: str) -> Collection[str]:
        found = source_of(source)
        taken = set(found.options.values()) if found else ()
        names = super().flags_for(source)
        return [name for name in names if f"--{name.replace('_', '-')}" in taken]

    def _place(self, text: str, folder: Path) -> str:
        """What `open` is given for it: a name, or the path from the folder of the plan."""
        if text in CATALOGUE:
            return text
        path = folder / text
        if not (path.exists() or path.suffix or len(Path(text).parts) > 1):
            raise unknown("dataset", text, CATALOGUE)
        return str(path)


class GraphTask(OpensSets):
    """Whose examples are the graphs of a set, in the set's own splits."""

    def splits(self, dataset: Dataset) -> Sequence[Split]:
        return dataset.folds

    def size(self, dataset: Dataset) -> float:
        return dataset.graphs.mean_nodes

    def cannot_stack(self, dataset: Dataset, model: Any) -> str | None:
        known = model.method in METHODS
        if known and not METHODS[model.method].has_fixed_shapes(model.pool):
            return f"the shapes of {model.method} depend on the data"
        if not dataset.graphs.symmetric or dataset.graphs.edge_weight is not None:
            return f"{dataset.name} has directed or weighted edges"
        return None

    def fixed_batches(self, dataset: Dataset, model: Trainable) -> FixedBatches:
        dtype = next(model.parameters()).dtype
        levels = max((getattr(part, "chain_levels", 0) for part in model.modules()), default=0)
        reads = reads_of(model)
        if not levels:
            return batches_for(dataset.graphs, reads, dtype)
        along = partial(ChainBatches, levels=levels)
        return batches_for(dataset.graphs, reads, dtype, kind=along)


def keyword_options(make: Any, *, without: Collection[str] = ()) -> dict[str, inspect.Parameter]:
    """The options of a constructor: its keyword-only arguments, by name."""
    found = inspect.signature(make.__init__).parameters.values()
    return {p.name: p for p in found if p.kind is p.KEYWORD_ONLY and p.name not in without}


def declared_types(options: Mapping[str, inspect.Parameter]) -> dict[str, str]:
    return {name: str(option.annotation) for name, option in options.items()}
