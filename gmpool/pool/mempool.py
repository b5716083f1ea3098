"""MemPool (Khasahmadi et al., 2020): memory keys that cluster the nodes, in two layers.

S^h_ik ∝ (1 + ‖x_i − k^h_k‖² / τ)^(−(τ+1)/2) ;  C = softmax_k(Σ_h w_h S^h) ;  X' = (Cᵀ X) W
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.graph.edges import AnyEdges
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.grouped import collect
from gmpool.ops.segment import Segments, segment_gather, segment_mean, segment_sum
from gmpool.options import between
from gmpool.pool.method import (
    METHODS,
    MOST_ROUNDS,
    MOST_WEIGHT,
    GraphSizes,
    Method,
    Pooled,
    rows_wanted,
)


class MemoryLayer(KeepsOptions):
    """n rows of each graph to K, by H sets of K keys. [N, D] -> [B, K, out_dim]

    in_dim, out_dim: widths before and after.
    num_keys: K.
    num_heads: H.
    tau: of Student's distribution; small: far keys count less.
    """

    def __init__(
        self, in_dim: int, out_dim: int, num_keys: int, num_heads: int, tau: float
    ) -> None:
        super().__init__()
        self.tau = tau
        self.keys = nn.Parameter(torch.rand(num_heads, num_keys, in_dim))
        self.heads = nn.Linear(num_heads, 1, bias=False)
        self.linear = nn.Linear(in_dim, out_dim, bias=False)

    def forward(self, x: Tensor, segments: Segments) -> tuple[Tensor, Tensor]:
        """(rows [B, K, out_dim], assignment [N, K])"""
        H, K, D = self.keys.shape
        keys = self.keys.view(H * K, D)
        far = x.square().sum(1, keepdim=True) - 2 * x @ keys.t() + keys.square().sum(1)
        near = (1 + far.clamp(min=0) / self.tau).pow(-(self.tau + 1) / 2).view(-1, H, K)
        share = near / near.sum(2, keepdim=True)
        c = self.heads(share.transpose(1, 2))[:, :, 0].softmax(1)  # [N, K]
        return self.linear(collect(c[:, None].to(x.dtype), x, segments)[0]), c


@METHODS.register("mempool")
class MemPool(Method):
    """MemPool: memory keys cluster the nodes to K rows, then to one. [N, D] -> [B, hidden]

    num_keys: K; none: ratio · mean nodes, rounded up.
    ratio: of nodes to keys.
    heads: how many sets of keys there are.
    tau: of Student's distribution, by which a key's nearness counts.
    kl_weight: of the loss that sharpens the first layer's clusters.
    """

    architecture = "global"

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        num_keys: int | None = None,
        ratio: float = 0.25,
        heads: int = 5,
        tau: float = 1.0,
        kl_weight: float = 0.1,
    ) -> None:
        super().__init__()
        self.rows_per_graph = rows_wanted(num_keys, sizes, ratio, option="num_keys")
        between(1, MOST_ROUNDS, heads=heads)
        between(0, MOST_WEIGHT, kl_weight=kl_weight)
        between(1e-6, MOST_WEIGHT, tau=tau)
        self.kl_weight, self.out_dim = kl_weight, hidden_dim
        self.first = MemoryLayer(in_dim, hidden_dim, self.rows_per_graph, heads, tau)
        self.last = MemoryLayer(hidden_dim, hidden_dim, 1, heads, tau)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        rows, c = self.first(x, segments)
        B, K, D = rows.shape
        rows = nn.functional.leaky_relu(rows).view(B * K, D)
        out, _ = self.last(rows, Segments.uniform(B, K, x.device))
        loss = self.kl_weight * sharpening_loss(c, segments)
        return Pooled(out[:, 0], assignment=c, losses={"kl": loss})


def sharpening_loss(c: Tensor, segments: Segments) -> Tensor:
    """KL(P ‖ C) with P ∝ C² / (each cluster's total): mean over nodes, then over graphs."""
    total = segment_gather(segment_sum(c, segments), segments)
    p = c.square() / total
    p = p / p.sum(1, keepdim=True)
    smallest = torch.finfo(c.dtype).tiny
    kl = (p * (p.clamp(min=smallest).log() - c.clamp(min=smallest).log())).sum(1, keepdim=True)
    return segments.mean_over_graphs(segment_mean(kl, segments)[:, 0])
