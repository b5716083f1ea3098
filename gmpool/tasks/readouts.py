"""Poolings that a task exchanges by name: from the rows of nodes to a vector for each graph.

Each is called with (rows [N, D], edges, segments) and gives (vectors [B, out_dim], losses of its
own by name). Its keyword-only arguments, other than conv, are its options. What reads its rows by
`segment_sum` and `segment_mean` alone says so in `only_sums`.
"""

from typing import ClassVar

from torch import Tensor

from gmpool.graph import AnyEdges, Segments
from gmpool.nn.conv import ConvFactory
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.segment import segment_max, segment_mean, segment_sum
from gmpool.pool.blocks import GMPool
from gmpool.pool.gmt import GraphMultisetTransformer
from gmpool.pool.mincut import MinCutPool
from gmpool.pool.set2set import Set2Set

Vectors = tuple[Tensor, dict[str, Tensor]]


class Readout(KeepsOptions):
    """One of them."""

    only_sums: ClassVar[bool] = False


class MeanOfNodes(Readout):
    """Mean of the nodes.

    dim: D.
    """

    only_sums = True

    def __init__(self, dim: int, *, conv: ConvFactory | str) -> None:
        super().__init__()
        self.out_dim = dim

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        return segment_mean(rows, segments), {}


class SumOfNodes(MeanOfNodes):
    """Sum of the nodes.

    dim: D.
    """

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        return segment_sum(rows, segments), {}


class MaxOfNodes(MeanOfNodes):
    """Maximum over the nodes; those that share it share its gradient.

    dim: D.
    """

    only_sums = False

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        return segment_max(rows, segments), {}


class ReadBySet2Set(Readout):
    """Set2Set: an LSTM that attends to the nodes in several steps.

    dim: D.
    steps: how often it looks at all nodes.
    """

    def __init__(self, dim: int, *, conv: ConvFactory | str, steps: int = 3) -> None:
        super().__init__()
        self.read = Set2Set(dim, dim, steps=steps)
        self.out_dim = self.read.out_dim

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        return self.read(rows, edges, segments).x, {}


class MeanOfClusters(Readout):
    """MinCutPool, then the mean over its clusters.

    As each node is shared out wholly, that mean is the sum over nodes divided by K, whatever the
    clusters are: they act by their losses alone.

    dim: D.
    num_clusters: K.
    cut_weight, orthogonality_weight: of the two losses.
    """

    def __init__(
        self,
        dim: int,
        *,
        conv: ConvFactory | str,
        num_clusters: int = 4,
        cut_weight: float = 1.0,
        orthogonality_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.clusters = MinCutPool(
            dim,
            dim,
            num_clusters=num_clusters,
            cut_weight=cut_weight,
            orthogonality_weight=orthogonality_weight,
        )

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        pooled = self.clusters(rows, edges, segments)
        return pooled.x.mean(1), pooled.losses


class OneSeed(Readout):
    """GMPool_1, its keys and values by graph convolutions.

    Over nodes its softmax is an attention; over its one seed it is 1, and the pooling a sum of
    values.

    dim: D.
    conv: makes the convolutions.
    num_heads: H, by which dim can be divided.
    softmax: "nodes" or "seeds".
    """

    def __init__(
        self, dim: int, *, conv: ConvFactory | str, num_heads: int = 4, softmax: str = "nodes"
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.pooling = GMPool(dim, 1, num_heads=num_heads, conv=conv, softmax=softmax)

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        return self.pooling(rows, edges, segments).x.flatten(1), {}


class Transformer(Readout):
    """The Graph Multiset Transformer, its first keys and values by graph convolutions.

    dim: D.
    conv: makes the convolutions.
    num_seeds: K.
    num_heads: H, by which dim can be divided.
    softmax: "nodes" or "seeds".
    """

    def __init__(
        self,
        dim: int,
        *,
        conv: ConvFactory | str,
        num_seeds: int = 4,
        num_heads: int = 4,
        softmax: str = "seeds",
    ) -> None:
        super().__init__()
        self.out_dim = dim
        self.readout = GraphMultisetTransformer(
            dim, dim, num_seeds=num_seeds, num_heads=num_heads, conv=conv, softmax=softmax
        )

    def forward(self, rows: Tensor, edges: AnyEdges, segments: Segments) -> Vectors:
        return self.readout(rows, edges, segments), {}
