"""What a model must know of its data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gmpool.data import PackedGraphs
from gmpool.data.packed import with_categories
from gmpool.errors import CheckpointError, DataError
from gmpool.pool.method import GraphSizes

NAMED_ALIKE = ("cat_sizes", "cat_starts", "edge_cat_sizes", "class_names", "task_names")
"""What a shape takes over from its graphs as it is."""


@dataclass(frozen=True)
class DataShape:
    """What a model must know of the data it was built for; saved with every checkpoint."""

    task: str
    num_features: int
    num_outputs: int
    mean_nodes: float
    node_deciles: tuple[int, ...] = ()
    cat_sizes: tuple[int, ...] = ()
    cat_starts: tuple[int, ...] = ()
    edge_cat_sizes: tuple[int, ...] = ()
    class_names: tuple[str, ...] = ()
    task_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, graphs: PackedGraphs, *, labelled: bool = True) -> DataShape:
        """labelled: whether the model is to predict labels; else it rebuilds the features."""
        task = graphs.task if labelled else "reconstruct"
        if task is None:
            raise DataError(
                f"{graphs.name} has no labels; training needs at least one label column"
            )
        return cls(
            task=task,
            num_features=graphs.num_features,
            num_outputs=graphs.num_outputs if labelled else graphs.num_features,
            mean_nodes=graphs.mean_nodes,
            node_deciles=_deciles(graphs),
            **{name: getattr(graphs, name) for name in NAMED_ALIKE},
        )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> DataShape:
        lists = {k: tuple(v) for k, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **lists})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def sizes(self) -> GraphSizes:
        return GraphSizes(self.mean_nodes, self.node_deciles)

    @property
    def is_molecular(self) -> bool:
        """Categorical atoms and bonds and nothing else: the encoder reads bonds."""
        return bool(self.edge_cat_sizes) and sum(self.cat_sizes) == self.num_features

    @property
    def is_one_category(self) -> bool:
        """One categorical column and nothing else, such as the type of an atom."""
        return self.cat_sizes == (self.num_features,)

    def fit(self, graphs: PackedGraphs) -> PackedGraphs:
        """The graphs as a model made for this shape reads them: with its categories and numbers.

        Raises if they have other features, or a category that the model has not seen.
        """
        if len(self.cat_sizes) == len(graphs.cat_sizes):
            graphs = with_categories(graphs, self.cat_sizes, self.cat_starts)
        for name in ("num_features", "cat_sizes", "edge_cat_sizes"):
            expected, found = getattr(self, name), getattr(graphs, name)
            if expected != found:
                raise CheckpointError(
                    f"the model was trained on graphs with {name} = {expected}, but {graphs.name} "
                    f"has {found}; predict on data with the same features, or train a model on it"
                )
        return graphs


def _deciles(graphs: PackedGraphs) -> tuple[int, ...]:
    """The smallest graph, the sizes under which 10 %, 20 %, … lie, and the largest."""
    sizes = graphs.sizes.sort().values
    last = sizes.numel() - 1
    return tuple(int(sizes[round(last * tenth / 10)]) for tenth in range(11))
