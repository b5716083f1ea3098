"""What is held out of the graphs to learn from."""

from gmpool.data import Dataset, PackedGraphs
from gmpool.data.make_splits import with_splits
from gmpool.errors import DataError, UserError, unknown

SPLITS = ("random", "stratified", "scaffold")
FEWEST = 3


def held_out(graphs: PackedGraphs, split: str, share: float, seed: int) -> Dataset:
    """All graphs to learn from, of which a share is for validation and none for a test."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if not 0 < share < 1:
        raise UserError(f"validation is a share between 0 and 1, got {share}")
    if len(graphs) < FEWEST:
        raise DataError(
            f"X has {len(graphs)} sample(s), too few to learn from: some must be held out for "
            f"validation; give at least {FEWEST}"
        )
    percent = (100 * (1 - share), 100 * share, 0)
    alone = Dataset.of(graphs, folds=())
    return with_splits(
        alone,
        split,
        split_seed=None if split == "scaffold" else seed,
        split_sizes=percent,
    )
