"""The datasets that have a name, as ``catalogue.toml`` lists them, and what is known of them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from gmpool.data.splits import published_folds, ten_folds
from gmpool.errors import unknown

Kind = Literal["tu", "molecules", "atoms"]


@dataclass(frozen=True)
class Entry:
    """One named dataset. What is not known of it is left out, and then not verified."""

    kind: Kind
    """A TU archive, a table of molecules with labels, or one whose atom types are the target."""
    about: str
    """What its graphs are, and what is asked of them."""
    graphs: int
    nodes: int
    """Of all graphs together."""
    outputs: int
    """Classes or label columns; 0 for a set without labels."""
    files: Mapping[str, str] = field(default_factory=dict)
    """File name -> SHA-256, the preferred file first. Left out: NAME.zip or NAME.csv.gz."""
    download_mb: int = 1024
    """A larger file is not taken from the network."""
    content: str = ""
    """The digest of the graphs, whatever file they came in."""
    split: str = ""
    """The digest of the one split of molecules; that of folds follows from the published ones."""

    @property
    def mean_nodes(self) -> float:
        """Nodes of a graph, as they are published: to two decimals."""
        return round(self.nodes / self.graphs, 2)


class Card(NamedTuple):
    """What is known of a dataset, with a name or not, without its graphs at hand."""

    name: str
    digest: str
    """``Dataset.digest``."""
    split_digests: tuple[str, ...]
    """``Split.digest`` of each fold."""
    graphs: int
    nodes: int
    """Of all graphs together."""
    is_molecules: bool = False
    """Whether it is known that these are molecules with bonds."""


def card(name: str) -> Card | None:
    """What the catalogue knows of a set; None where it does not know its content or its splits."""
    if name not in CATALOGUE:
        raise unknown("dataset", name, CATALOGUE)
    entry = CATALOGUE[name]
    splits = _published_digests(name) if entry.kind == "tu" else (entry.split,)
    if not (entry.content and splits and all(splits)):
        return None
    return Card(name, entry.content, splits, entry.graphs, entry.nodes)


@cache
def _published_digests(name: str) -> tuple[str, ...]:
    folds = ten_folds(name) if name in published_folds() else ()
    return tuple(split.digest for split in folds)


def dataset_names(*kinds: Kind) -> tuple[str, ...]:
    """The names of the catalogue, of these kinds alone where any are given."""
    return tuple(name for name, entry in CATALOGUE.items() if not kinds or entry.kind in kinds)


_FILE = Path(__file__).with_suffix(".toml")
CATALOGUE = {
    name: Entry(**fields) for name, fields in tomllib.loads(_FILE.read_text("utf-8")).items()
}
