"""Pooling methods by name: what `--method` can say.

A method is a `Method` in a file of this folder, or in another package that names it as an entry
point of the group gmpool.methods. It is built as `TheMethod(in_dim, hidden_dim, sizes=…,
**options)` and called as

    pool(x, edge_index, batch=None, *, edge_weight=None, edge_attr=None, batch_size=None) -> Pooled

where edge_index and batch may also be Edges and Segments made before. Its keyword-only constructor
arguments, other than sizes, are its options. All that is particular to it is said in its class.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, ClassVar

from torch import Tensor

from gmpool.errors import UserError, unknown
from gmpool.graph import AnyEdges, Columns, Segments, plain
from gmpool.nn.inputs import ragged
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.options import between
from gmpool.registry import Registry


@dataclass(frozen=True)
class Pooled:
    """The result of pooling a batch of B graphs: vectors, or the coarse graphs.

    x: graph vectors [B, D]; or K rows per graph [B, K, D]; or the M rows of coarse graphs whose
        sizes differ, [M, D].
    edges, segments: the coarse graphs' edges, and the graph of each row; there when the method
        makes a coarse graph. Rows [B, K, D] count as B·K.
    kept: the node that each of the M rows was, for methods that drop nodes, ascending. [M]
    cluster: the row each node went into, for methods that merge nodes. [N]
    assignment: C [N, K], how much of each node went to each of its graph's K rows, averaged over
        heads; there when it was asked for, or when the method rests on it.
    attention: the same per head, [N, H, K].
    losses: auxiliary losses by name, to be added to the task's.
    """

    x: Tensor
    assignment: Tensor | None = None
    attention: Tensor | None = None
    losses: dict[str, Tensor] = field(default_factory=dict)
    edges: AnyEdges | None = None
    segments: Segments | None = None
    kept: Tensor | None = None
    cluster: Tensor | None = None

    @property
    def edge_index(self) -> Tensor | None:
        """The coarse graphs' edges in PyG's form. [2, E']"""
        return None if self.edges is None else self.edges.edge_index

    @property
    def edge_weight(self) -> Tensor | None:
        """Their weights, where they have any. [E']"""
        return None if self.edges is None else self.edges.edge_weight

    @property
    def batch(self) -> Tensor | None:
        """The graph of each row in PyG's form. [M]"""
        return None if self.segments is None else self.segments.batch


METHODS: Registry[Any] = Registry("method", package="gmpool.pool", group="gmpool.methods")


@dataclass(frozen=True)
class GraphSizes:
    """What a method may know of the set's numbers of nodes.

    mean: over the whole set.
    deciles: the smallest size, the sizes under which 10 %, 20 %, … lie, and the largest.
    """

    mean: float
    deciles: tuple[int, ...] = ()

    def share(self, ratio: float) -> int:
        """K = ceil(ratio · ceil(mean nodes)), at least 1: the paper's rule."""
        check_ratio(ratio)
        return max(1, ceil(ratio * ceil(self.mean)))

    def under(self, percent: int) -> int:
        """The size under which so many percent of the graphs lie; percent counts in tens."""
        if not self.deciles:
            raise UserError("the sizes of the graphs are not known, so give the number itself")
        return max(1, self.deciles[percent // 10])


def check_ratio(ratio: float) -> None:
    if not 0 < ratio <= 1:
        raise UserError(f"ratio must lie in (0, 1], got {ratio}")


RULES = ("ratio", "size60")
MOST_ROWS = 10_000
"""Per graph: weights that are there for each row, or each pair of rows, still fit in memory."""
MOST_ROUNDS = 1_000
"""Of whatever a method does again and again."""
MOST_WEIGHT = 1e9
"""Of a loss, and other factors: float32 holds what comes of them."""


def rows_wanted(
    number: int | None,
    sizes: GraphSizes | None,
    ratio: float,
    rule: str = "ratio",
    *,
    option: str = "num_rows",
) -> int:
    """How many rows per graph: the number itself, or by a rule from the sizes of the graphs.

    "ratio" is the paper's rule, "size60" the size under which 60 % of the graphs lie.

    option: what the user calls the number.
    """
    if rule not in RULES:
        raise unknown("rule", rule, RULES)
    check_ratio(ratio)
    if number is not None:
        between(1, MOST_ROWS, **{option: number})
        return number
    if sizes is None:
        raise UserError(
            f"give either the number of rows per graph, {option}=…, or the sizes of the graphs, "
            f"sizes=GraphSizes(mean), with their mean number of nodes"
        )
    return sizes.share(ratio) if rule == "ratio" else sizes.under(60)


class Method(KeepsOptions):
    """What the methods have in common: how they are called. Each writes `pool`.

    in_dim: width of the nodes.
    hidden_dim: width that the method may work at.
    sizes: of the graphs, for methods that derive a number of rows from them.
    """

    architecture: ClassVar[str]
    """How a network is made of it (`gmpool.tasks.classify.networks`):

    global     message passing, then the pooling: nodes to graph vectors [B, out_dim]
    selection  blocks of message passing and pooling to fewer nodes, a readout after each
    clusters   likewise with K clusters per graph, whose assignment is learned
    chain      likewise along a chain of clusterings that was made from the graphs beforehand
    """
    fixed_shapes: ClassVar[bool] = True
    """False where shapes inside depend on the data, so that replicas cannot be stacked. How many
    rows are kept may depend on the graphs' sizes, if a bound follows from shapes
    (`gmpool.ops.selection`)."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """What its row of the paper's table says beyond the pooling: other defaults of a network."""
    rebuilds: ClassVar[frozenset[str]] = frozenset()
    """What an autoencoder around it can learn: features ("x"), adjacency ("a"). Such a method has
    an option ratio, and gives K clusters and their assignment, or the nodes that it kept."""
    breaks: ClassVar[Mapping[str, str]] = {}
    """Laws that it cannot keep by its nature, and why: "order" (of nodes and edges)."""
    out_dim: int
    takes_columns: ClassVar[bool] = False
    """Whether `pool` is given blocks of columns (`gmpool.graph.columns`) as they come."""
    rows_per_graph: int | None = None
    """K, the rows that each graph is pooled to, where the method fixes their number."""

    @classmethod
    def has_fixed_shapes(cls, options: Mapping[str, Any]) -> bool:
        """Whether replicas with these options can be stacked."""
        return cls.fixed_shapes

    @property
    def reads(self) -> frozenset[str]:
        """Which forms of the edges `pool` asks for itself, beside its convolutions
        (`gmpool.graph.reads`)."""
        return frozenset()

    def forward(
        self,
        x: Tensor | Columns,
        edge_index: Tensor | AnyEdges,
        batch: Tensor | Segments | None = None,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch_size: int | None = None,
        **more: Any,
    ) -> Pooled:
        """x [N, D], edge_index [2, E], batch [N]; or Edges and Segments made before.

        more: what the `pool` of a method takes beside them.
        """
        edges, segments = ragged(self, x, edge_index, batch, batch_size, edge_weight, edge_attr)
        rows: Any = x if self.takes_columns else plain(x)
        return self.pool(rows, edges, segments, **more)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """What the method does with the nodes x [N, D] of a batch."""
        raise NotImplementedError


def method_options(name: str) -> dict[str, Any]:
    """The options of a method and their defaults."""
    parameters = inspect.signature(METHODS[name].__init__).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "sizes"}


def method_summary(name: str) -> str:
    """The first line of its docstring."""
    return (METHODS[name].__doc__ or "").strip().splitlines()[0]
