"""What is held out of the graphs to learn from."""

from numbers import Real
from typing import Any

from gmpool.data import Dataset, PackedGraphs
from gmpool.data.make_splits import with_splits
from gmpool.data.molecule_groups import MoleculeGroups
from gmpool.errors import DataError, UserError, WrongType, unknown

SPLITS = ("random", "stratified", "scaffold")
FEWEST = 3


def held_out(graphs: PackedGraphs, split: str, share: Any, seed: int) -> Dataset:
    """All graphs to learn from, of which a share is for validation and none for a test. A molecule
    that is there several times is in one of both."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if not isinstance(share, Real) or isinstance(share, bool):
        raise WrongType(f"validation is a share between 0 and 1, got {share!r}")
    valid = round(100 * float(share), 6)
    if not 0 < valid < 100:
        raise UserError(f"validation is a share between 0 and 1, got {share}")
    if len(graphs) < FEWEST:
        raise DataError(
            f"X has {len(graphs)} sample(s), too few to learn from: some must be held out for "
            f"validation; give at least {FEWEST}"
        )
    molecules = MoleculeGroups.of(graphs)
    if split == "scaffold":
        _require_scaffolds(molecules)
    percent = (100 - valid, valid, 0)
    alone = Dataset.of(graphs, folds=(), molecules=molecules)
    return with_splits(
        alone,
        split,
        split_seed=None if split == "scaffold" else seed,
        split_sizes=percent,
    )


def _require_scaffolds(molecules: MoleculeGroups | None) -> None:
    way_out = "take split='random' or 'stratified'"
    if molecules is None:
        raise UserError(f"split='scaffold' is for molecules, and X holds none; {way_out}")
    if not molecules.scaffolds.any():  # which are numbered from 0
        raise DataError(f"split='scaffold' needs molecules of two scaffolds, X has one; {way_out}")
