"""HaarPool (Wang et al., ICML 2020): the compressive Haar transform along a chain of clusterings.

    X_{j+1} = Φ_jᵀ X_j = Bᵀ D^{-1/2} Cᵀ X_j

Φ_j [N_j, N_{j+1}] holds the first functions of level j's orthonormal Haar basis. In the closed form
C assigns the nodes to clusters, D holds the clusters' sizes and B is the coarse level's whole
basis (`bases.py`): cluster sums of unit norm, then an orthogonal transform. With one cluster it is
Σ x / √N. Nothing is learned, and the chain is made from the graphs alone (`clustering.py`).

Row l of X_{j+1} is the coefficient of the l-th function, and stands for the l-th cluster, clusters
ordered by degree, when messages are passed among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor

from gmpool.graph import AnyEdges, Segments
from gmpool.ops.sparse import spmm
from gmpool.pool.haarpool.chain_edges import chain_step
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled


@METHODS.register("haarpool")
class HaarPool(Method):
    """HaarPool: compresses nodes by Haar bases of a fixed chain of spectral clusterings."""

    architecture = "chain"
    reads = frozenset({"batch"})
    breaks: ClassVar[Mapping[str, str]] = {
        "order": "the chain is made of the edges alone: of nodes that a symmetry exchanges, as the "
        "two of an edge, the numbering decides which comes first, whatever their features"
    }

    def __init__(self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None) -> None:
        super().__init__()
        self.out_dim = in_dim

    def pool(
        self, x: Tensor, edges: AnyEdges, segments: Segments, levels: int | None = None
    ) -> Pooled:
        """x [N, D] -> Pooled with x [N', D] and the graph of the clusters

        levels: how many poolings there are from here to one row per graph, this one included; 3
        where nobody says. The edges that are returned know what is left of their chain, so that
        the next pooling, given these edges, goes on along it.
        """
        step = chain_step(edges, segments, levels)
        # An empty graph has one empty cluster at the last level.
        scale = step.counts.clamp(min=1).to(x.dtype).rsqrt()[:, None]
        rows = scale * spmm(step.clusters, x)
        if step.basis is not None:
            rows = step.basis.matmul(rows)
        return Pooled(rows, edges=step.edges, segments=step.segments, cluster=step.cluster)
