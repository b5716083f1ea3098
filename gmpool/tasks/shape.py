"""What a model must know of its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from gmpool.data import PackedGraphs
from gmpool.data.packed import with_categories
from gmpool.errors import CheckpointError, DataError, unknown
from gmpool.pool.method import GraphSizes

NAMED_ALIKE = ("cat_sizes", "cat_starts", "edge_cat_sizes", "class_names", "task_names")
"""What a shape takes over from its graphs as it is."""
REBUILDS = "reconstruct"
"""The task of a model that has no labels."""
TASKS = ("multiclass", "binary", "regression", REBUILDS)
MOST = 2**31
"""No number of a shape is greater: features, nodes, categories."""


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
    graph_features: int = 0
    """Numeric features of a whole graph."""

    @classmethod
    def of(cls, graphs: PackedGraphs, *, labelled: bool = True) -> DataShape:
        """labelled: whether the model is to predict labels; else it rebuilds the features."""
        task = graphs.task if labelled else REBUILDS
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
            graph_features=len(graphs.graph_float_names),
            **{name: getattr(graphs, name) for name in NAMED_ALIKE},
        )

    @classmethod
    def from_json(cls, values: object) -> Self:
        """From a file that anybody may have written."""
        if not isinstance(values, Mapping):
            raise CheckpointError(f"shape must be an object, got {values!r:.60}")
        known = {field.name: str(field.type) for field in fields(cls)}
        for key in values:
            if key not in known:
                raise unknown("part of a shape", key, known)
        for key in ("task", "num_features", "num_outputs", "mean_nodes"):
            if key not in values:
                raise CheckpointError(f"shape.{key} is missing")
        for key, value in values.items():
            _check(key, value, known[key])
        given: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        shape = cls(**given)
        shape._check_counts()
        return shape

    def _check_counts(self) -> None:
        """What must agree with each other."""
        if self.task not in TASKS:
            raise unknown("task of a shape", self.task, TASKS)
        kind = "class_names" if self.task == "multiclass" else "task_names"
        names: tuple[str, ...] = getattr(self, kind)
        needed = self.task == "multiclass" or (self.task != REBUILDS and names)
        if needed and len(names) != self.num_outputs:
            raise CheckpointError(
                f"shape has {len(names)} {kind} for {self.num_outputs} num_outputs"
            )
        if self.task == REBUILDS and self.num_outputs != self.num_features:
            raise CheckpointError(
                f"shape has {self.num_outputs} num_outputs to rebuild {self.num_features} features"
            )
        if self.cat_starts and len(self.cat_starts) != len(self.cat_sizes):
            raise CheckpointError(
                f"shape has {len(self.cat_starts)} cat_starts for {len(self.cat_sizes)} cat_sizes"
            )
        if 0 in self.cat_sizes + self.edge_cat_sizes or sum(self.cat_sizes) > self.num_features:
            raise CheckpointError(
                f"shape.cat_sizes {self.cat_sizes} do not fit {self.num_features} num_features"
            )

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


def _check(key: str, value: Any, kind: str) -> None:
    """A value of a shape in a file; kind: the type that is declared."""
    many = kind.startswith("tuple")
    if many and not isinstance(value, list | tuple):
        raise CheckpointError(f"shape.{key} must be a list, got {value!r:.60}")
    for one in value if many else [value]:
        if "str" in kind:
            fits = isinstance(one, str)
        else:
            number = isinstance(one, int if "int" in kind else int | float) and one is not True
            least = -MOST if key == "cat_starts" else 0
            fits = number and one is not False and least <= one <= MOST
        if not fits:
            wanted = "text" if "str" in kind else f"a number from 0 to {MOST}"
            raise CheckpointError(f"shape.{key} must be {wanted}, got {one!r:.60}")


def _deciles(graphs: PackedGraphs) -> tuple[int, ...]:
    """The smallest graph, the sizes under which 10 %, 20 %, … lie, and the largest."""
    sizes = graphs.sizes.sort().values
    last = sizes.numel() - 1
    return tuple(int(sizes[round(last * tenth / 10)]) for tenth in range(11))
