"""GraphMultisetTransformer behind the one interface of the comparison."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gmpool.errors import unknown
from gmpool.graph import AnyEdges, Columns, Segments
from gmpool.pool.gmt import PRESETS, GraphMultisetTransformer
from gmpool.pool.method import METHODS, GraphSizes, Method, Pooled, rows_wanted


@METHODS.register("gmt")
class GMTMethod(Method):
    """Graph Multiset Transformer: GMPool_k on the graph, SelfAtt, GMPool_1. [N, D] -> [B, hidden]

    preset: "authors", what their published code computes, or "paper", what its equations say; sets
        what the options below leave at None.
    num_seeds: K of the first pooling; none: ceil(ratio · ceil(mean nodes of the set)).
    ratio: of nodes to seeds, and from each pooling to the next but the last.
    num_heads: H, by which in_dim and hidden_dim can be divided.
    conv: makes keys and values on the graph: "gcn", "gin" or none.
    softmax: over "seeds" (each node is shared out; sees multiplicity) or over "nodes".
    blocks: names joined by "-": GMPool_G on the graph, GMPool_I without edges, SelfAtt.
    later_adjacency: A' of the poolings after the first: "identity" or "coarsened".
    dropout: of what is gathered and of the feed-forward layers.
    layer_norm, scale, residual, out_projection, final_linear: as in GraphMultisetTransformer; none:
        the preset's.
    """

    architecture = "global"
    takes_columns = True
    rebuilds = frozenset({"x", "a"})

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        sizes: GraphSizes | None = None,
        preset: str = "authors",
        num_seeds: int | None = None,
        ratio: float = 0.25,
        num_heads: int = 1,
        conv: str | None = "gcn",
        softmax: str = "seeds",
        blocks: str = "GMPool_G-SelfAtt-GMPool_I",
        later_adjacency: str = "identity",
        dropout: float = 0.0,
        layer_norm: bool | None = None,
        scale: str | None = None,
        residual: str | None = None,
        out_projection: bool | None = None,
        final_linear: bool | None = None,
    ) -> None:
        super().__init__()
        if preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        asked: dict[str, Any] = {
            "layer_norm": layer_norm,
            "scale": scale,
            "residual": residual,
            "out_projection": out_projection,
            "final_linear": final_linear,
        }
        chosen = {name: value for name, value in asked.items() if value is not None}
        self.out_dim = hidden_dim
        self.readout = GraphMultisetTransformer.from_preset(
            preset,
            in_dim,
            hidden_dim,
            num_seeds=rows_wanted(num_seeds, sizes, ratio, option="num_seeds"),
            ratio=ratio,
            num_heads=num_heads,
            conv=conv,
            softmax=softmax,
            blocks=blocks,
            later_adjacency=later_adjacency,
            dropout=dropout,
            **chosen,
        )

    def pool(self, x: Tensor | Columns, edges: AnyEdges, segments: Segments) -> Pooled:
        return Pooled(self.readout(x, edges, segments))
