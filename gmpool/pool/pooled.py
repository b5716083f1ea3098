"""What every pooling returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from gmpool.graph.edges import AnyEdges
from gmpool.ops.segment import Segments


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
