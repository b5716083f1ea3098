"""SAGPool (Lee, Lee & Kang, 2019): keep the nodes that a graph convolution scores best.

    s = tanh(GCN(X, A)) ;  keep the ceil(ratio · n) best ;  x'_i = x_i s_i

SAGPool(H) pools after every layer, SAGPool(G) once after all of them. PyG's layer scores by a
GraphConv, which has weights of their own for a node itself; `scored_by="graph"` is that.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.errors import unknown
from gmpool.graph.edges import AnyEdges
from gmpool.nn.conv import GCNConv, GraphConv
from gmpool.ops.segment import Segments, segment_max, segment_mean
from gmpool.ops.selection import best_of_each
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled, check_ratio
from gmpool.pool.topk import keep_best

SCORERS: dict[str, type[GCNConv] | type[GraphConv]] = {"gcn": GCNConv, "graph": GraphConv}


@METHODS.register("sagpool")
class SAGPool(Method):
    """SAGPool(H): keeps the nodes with the best scores by a graph convolution, at every level.

    ratio: how many nodes of a graph are kept, rounded up.
    scored_by: the convolution that scores: "gcn", or "graph" for PyG's GraphConv.
    """

    architecture = "selection"
    reads = frozenset({"entries", "edge_attr"})

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        ratio: float = 0.25,
        scored_by: str = "gcn",
    ) -> None:
        super().__init__()
        check_ratio(ratio)
        if scored_by not in SCORERS:
            raise unknown("scored_by", scored_by, SCORERS)
        self.ratio, self.out_dim = ratio, in_dim
        self.score = SCORERS[scored_by](in_dim, 1)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """x [N, D] -> Pooled with x [M, D] and the graph among the kept nodes"""
        score = torch.tanh(self.score(x, edges)[:, 0])
        return keep_best(x, score, edges, segments, self.ratio)


@METHODS.register("sagpool-global")
class SAGPoolGlobal(SAGPool):
    """SAGPool(G): the same once, then mean and maximum of the kept nodes. [N, D] -> [B, 2 D]"""

    architecture = "global"
    reads = frozenset()

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        ratio: float = 0.25,
        scored_by: str = "gcn",
    ) -> None:
        super().__init__(in_dim, hidden_dim, sizes=sizes, ratio=ratio, scored_by=scored_by)
        self.out_dim = 2 * in_dim

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        score = torch.tanh(self.score(x, edges)[:, 0])
        kept, left = best_of_each(score, segments, self.ratio)
        rows = x.index_select(0, kept) * score.index_select(0, kept)[:, None]
        both = torch.cat([segment_mean(rows, left), segment_max(rows, left)], dim=1)
        return Pooled(both, kept=kept)
