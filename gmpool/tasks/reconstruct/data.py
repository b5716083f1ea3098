"""Sets to be reconstructed that are known by name, and the split to use with any."""

import logging
from pathlib import Path

from gmpool.data import CATALOGUE, Dataset, Split, load, random_split
from gmpool.data.sources.generated import PAPER_GRAPHS, generator_names
from gmpool.errors import UserError

_log = logging.getLogger(__name__)


def named_dataset(name: str) -> Dataset | None:
    """A set or graph with a name; None, and a word on it, where its files are not there."""
    if name not in CATALOGUE and name not in PAPER_GRAPHS:
        return None
    try:
        return load(name)
    except UserError as error:
        _log.warning(
            "%s is not at hand, so that there are no scores or pictures of it: %s", name, error
        )
        return None


def is_made_beside_a_folder(source: str) -> bool:
    """Whether a word is the name of a graph that is made, and a folder which holds no graphs, such
    as the store of an earlier run, is called the same. ./NAME is the folder in any case."""
    path = Path(source)
    graphs = (*path.glob("*_A.txt"), *path.glob("raw/*_A.txt"))
    if source != path.name or not path.is_dir() or graphs:
        return False
    return source in generator_names()


def reconstruct_split(dataset: Dataset) -> Split:
    """The first split of a set; without one, one graph is all three parts and many are divided
    80/10/10, always in the same way."""
    if dataset.folds:
        return dataset.folds[0]
    count = dataset.graphs.num_graphs
    if count == 1:
        whole = dataset.graphs.node_ptr.new_zeros(1)
        return Split(whole, whole, whole)
    if count < 3:
        raise UserError(
            f"{dataset.name} has {count} graphs, too few for training, validation and test; give "
            f"one graph, which is then all three, or at least 3"
        )
    return random_split(count)
