"""Set Transformer readout (Lee et al., 2019; Buterez et al., 2022): GMT's ancestor, without edges.

Self-attention among all nodes of a graph, a feed-forward layer, pooling by attention from seeds,
and self-attention among the seeds' rows, made of GMT's own blocks: nothing is padded.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gmpool.graph import AnyEdges, Segments
from gmpool.pool.blocks import GMPool, SelfAtt
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled


@METHODS.register("set-transformer")
class SetTransformer(Method):
    """Set Transformer: nodes attend to each other, then seeds to nodes. [N, D] -> [B, hidden]

    num_seeds: K; with several, their rows are concatenated: [B, K · hidden].
    num_heads: H, by which hidden can be divided.
    layer_norm: whether LN of the blocks is a layer norm, or nothing.
    dropout: of what is gathered and of the feed-forward layers.
    """

    architecture = "global"
    fixed_shapes = False

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        num_seeds: int = 1,
        num_heads: int = 4,
        layer_norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        block: dict[str, Any] = {
            "num_heads": num_heads,
            "softmax": "nodes",
            "layer_norm": layer_norm,
            "dropout": dropout,
            "scale": "head",
            "residual": "query",
            "out_projection": True,
        }
        self.out_dim = hidden_dim * num_seeds
        self.narrow = nn.Linear(in_dim, hidden_dim)
        self.encode = SelfAtt(hidden_dim, **block)
        self.linear = nn.Linear(hidden_dim, hidden_dim)
        self.to_seeds = GMPool(hidden_dim, num_seeds, conv=None, **block)
        self.decode = SelfAtt(hidden_dim, **block)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        x = self.encode(self.narrow(x), segments)
        pooled = self.to_seeds(torch.relu(self.linear(x)), edges, segments)
        return Pooled(self.decode(pooled.x).flatten(1))
