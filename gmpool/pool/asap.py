"""ASAP (Ranjan, Sanyal & Talukdar, AAAI 2020): keep the fittest of the clusters around all nodes.

With N(i) the neighbours of i and i itself:
m_i = W max_{j in N(i)} x_j ;  α_ij = softmax_j LeakyReLU(w · [m_i ‖ x_j]) ;  c_i = Σ_j α_ij x_j
φ_i = sigmoid(W₁ c_i + Σ_j a_ij (W₂ c_i − W₃ c_j)) ;  keep the ceil(ratio · n) best by φ
x'_i = φ_i c_i ;  A' = S (A + L) Sᵀ without its diagonal, with S the kept rows of α
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.graph import AnyEdges, DerivedEdges, Segments
from gmpool.graph.cluster_product import cluster_product, rows_of
from gmpool.graph.matrices import SparseMatrix
from gmpool.graph.neighbourhoods import with_loops
from gmpool.nn.clock import check_dropout
from gmpool.ops.edge_scores import row_softmax, sum_of_ends
from gmpool.ops.neighbour_max import neighbour_max
from gmpool.ops.selection import best_of_each
from gmpool.ops.sparse import Pattern, spmm
from gmpool.options import between
from gmpool.pool.method import METHODS, MOST_WEIGHT, GraphSizes, Method, Pooled, check_ratio


@METHODS.register("asap")
class ASAPool(Method):
    """ASAP: keeps the fittest of the clusters that attention forms around every node.

    ratio: how many nodes of a graph are kept, rounded up.
    dropout: of attention.
    negative_slope: of attention's leaky ReLU.
    add_self_loops: keep the diagonal of A'.
    """

    architecture = "selection"
    reads = frozenset({"entries"})
    fixed_shapes = False

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        ratio: float = 0.25,
        dropout: float = 0.0,
        negative_slope: float = 0.2,
        add_self_loops: bool = False,
    ) -> None:
        super().__init__()
        check_ratio(ratio)
        check_dropout(dropout)
        between(0, MOST_WEIGHT, negative_slope=negative_slope)
        self.ratio, self.out_dim = ratio, in_dim
        self.negative_slope, self.add_self_loops = negative_slope, add_self_loops
        self.query = nn.Linear(in_dim, in_dim)  # W
        self.attention = nn.Linear(2 * in_dim, 1)  # w
        self.drop = nn.Dropout(dropout)
        self.fit_own = nn.Linear(in_dim, 1)  # W₁
        self.fit_here = nn.Linear(in_dim, 1, bias=False)  # W₂
        self.fit_there = nn.Linear(in_dim, 1)  # W₃

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        """x [N, D] -> Pooled with x [M, D] and the weighted graph of the kept clusters"""
        looped = with_loops(edges.entries)
        # Under autocast as well: scores of 8 bits would tie.
        with torch.autocast(x.device.type, enabled=False):
            z = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
            share = self.drop(self.shares(z, looped.pattern))  # α [E]
            clusters = spmm(looped.pattern, z, share)  # c [N, D]
            fitness = self.fitness(clusters, looped)  # [N]
            kept, left = best_of_each(fitness, segments, self.ratio)
            scale = torch.sigmoid(fitness.index_select(0, kept))[:, None]
            rows = scale * clusters.index_select(0, kept)
            pattern, entries = rows_of(looped.pattern, kept)
            coarse = cluster_product(
                looped, pattern, share.index_select(0, entries), left, loops=self.add_self_loops
            )
        coarse_edges = DerivedEdges(coarse, dtype=edges.dtype)
        return Pooled(rows.to(x.dtype), edges=coarse_edges, segments=left, kept=kept)

    def shares(self, x: Tensor, neighbours: Pattern) -> Tensor:
        """α of each entry (i, j): how much of node j is in the cluster around i. [E]"""
        top = neighbour_max(neighbours, x)  # [N, D]
        of_query, of_node = self.attention.weight.to(x.dtype).view(2, -1)
        # w · W m' needs no W m' [N, D]: (wᵀ W) m' is the same.
        query = top @ (of_query @ self.query.weight.to(x.dtype))
        constant = of_query @ self.query.bias.to(x.dtype) + self.attention.bias.to(x.dtype)
        score = sum_of_ends(neighbours, query + constant, x @ of_node)
        score = nn.functional.leaky_relu(score, self.negative_slope)
        return row_softmax(neighbours, score)

    def fitness(self, clusters: Tensor, looped: SparseMatrix) -> Tensor:
        """What φ is the sigmoid of: LEConv, which sees whether a cluster stands out. [N]"""
        weight = torch.cat([self.fit_own.weight, self.fit_here.weight, self.fit_there.weight])
        own, here, there = (clusters @ weight.to(clusters.dtype).t()).unbind(1)
        there = there + self.fit_there.bias
        degree, around = looped.matmul(torch.stack([torch.ones_like(there), there], 1)).unbind(1)
        return own + self.fit_own.bias + degree * here - around
