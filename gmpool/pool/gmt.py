"""The Graph Multiset Transformer: nodes in, one vector per graph out (equation 10).

    GMPool_1(SelfAtt(GMPool_k(H, A)), A')
or any other sequence of these blocks that ends in a pooling.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from torch import Tensor, nn

from gmpool.errors import UserError, unknown
from gmpool.graph import AnyEdges, Columns, Segments, plain
from gmpool.nn.conv import ConvFactory
from gmpool.nn.inputs import ragged
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.pool.blocks import GMPool, SelfAtt
from gmpool.pool.method import GraphSizes, Pooled

BLOCKS = ("GMPool_G", "GMPool_I", "SelfAtt")
LATER_ADJACENCIES = ("identity", "coarsened")

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # What the authors' published code computes.
    "authors": {
        "layer_norm": False,
        "scale": "width",
        "residual": "projected",
        "out_projection": False,
        "final_linear": True,
    },
    # What the paper's equations say.
    "paper": {
        "layer_norm": True,
        "scale": "none",
        "residual": "query",
        "out_projection": True,
        "final_linear": False,
    },
}


def seeds_for(mean_nodes: float, ratio: float = 0.25) -> int:
    """K = ceil(ratio · ceil(mean nodes)), the mean over the whole set."""
    return GraphSizes(mean_nodes).share(ratio)


def _first_seeds(num_seeds: int | None, mean_nodes: float | None, ratio: float) -> int:
    if num_seeds is not None and mean_nodes is None:
        return num_seeds
    if num_seeds is None and mean_nodes is not None:
        return seeds_for(mean_nodes, ratio)
    raise UserError("give either num_seeds, or mean_nodes (with ratio), and not both")


class GraphMultisetTransformer(KeepsOptions):
    """A readout `(x, edge_index, batch) -> [B, hidden_dim]` for any message-passing network.

    in_dim: width of the nodes; the blocks before the first SelfAtt work at this width.
    hidden_dim: width of the result. SelfAtt narrows to it, unless residual="query" forbids that;
        then a last linear map does.
    num_seeds: K of the first pooling; or leave it out and give mean_nodes.
    mean_nodes: of the graphs; K is then ceil(ratio · ceil(mean_nodes)).
    ratio: each pooling between the first and the last, which leaves 1 row, has ceil(ratio · K).
    blocks: names joined by "-": GMPool_G makes keys and values with `conv` on the graph, GMPool_I
        with a linear map, SelfAtt lets rows attend to each other.
    later_adjacency: A' of the poolings after the first: "identity", or "coarsened" for CᵀAC on
        which `conv` then works whichever letter the block has.
    final_linear: whether a linear map follows even where the width is hidden_dim already.
    num_heads, conv, softmax, layer_norm, dropout, scale, residual, out_projection: of all blocks,
        as in GMPool and SelfAtt.
    """

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        num_seeds: int | None = None,
        num_heads: int = 1,
        conv: str | ConvFactory | None = "gcn",
        softmax: str = "seeds",
        layer_norm: bool = False,
        blocks: str = "GMPool_G-SelfAtt-GMPool_I",
        mean_nodes: float | None = None,
        ratio: float = 0.25,
        later_adjacency: str = "identity",
        dropout: float = 0.0,
        scale: str = "width",
        residual: str = "projected",
        out_projection: bool = False,
        final_linear: bool = True,
    ) -> None:
        super().__init__()
        names = self._parse(blocks, later_adjacency)
        K = _first_seeds(num_seeds, mean_nodes, ratio)
        self.in_dim, self.hidden_dim, self.later_adjacency = in_dim, hidden_dim, later_adjacency
        shared: dict[str, Any] = {
            "num_heads": num_heads,
            "softmax": softmax,
            "layer_norm": layer_norm,
            "dropout": dropout,
            "scale": scale,
            "residual": residual,
            "out_projection": out_projection,
        }
        self.blocks = nn.ModuleList()
        width, pooled = in_dim, False
        for i, name in enumerate(names):
            if name == "SelfAtt":
                out = width if residual == "query" else hidden_dim
                self.blocks.append(SelfAtt(width, out, **shared))
                width = out
                continue
            on_graph = later_adjacency == "coarsened" if pooled else name == "GMPool_G"
            seeds = 1 if i == len(names) - 1 else K
            block_conv = conv if on_graph else None
            self.blocks.append(GMPool(width, seeds, conv=block_conv, **shared))
            K, pooled = ceil(ratio * K), True
        linear = final_linear or width != hidden_dim
        self.final = nn.Linear(width, hidden_dim) if linear else nn.Identity()

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"plain"}) if self.later_adjacency == "coarsened" else frozenset()

    @classmethod
    def from_preset(
        cls, preset: str, in_dim: int, hidden_dim: int, **options: Any
    ) -> GraphMultisetTransformer:
        """With the options of "paper" or "authors"; those given here come first."""
        if preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        return cls(in_dim, hidden_dim, **{**PRESETS[preset], **options})

    @staticmethod
    def _parse(blocks: str, later_adjacency: str) -> list[str]:
        names = blocks.split("-")
        for name in names:
            if name not in BLOCKS:
                raise unknown("block in blocks", name, BLOCKS)
        if names[-1] == "SelfAtt":
            raise UserError(f"blocks must end in a GMPool so that one row is left, got {blocks!r}")
        if later_adjacency not in LATER_ADJACENCIES:
            raise unknown("later_adjacency", later_adjacency, LATER_ADJACENCIES)
        if later_adjacency == "coarsened" and sum(n != "SelfAtt" for n in names) < 2:
            raise UserError(
                f'later_adjacency="coarsened" has no effect on {blocks!r}: only one pooling'
            )
        return names

    def forward(
        self,
        x: Tensor | Columns,
        edge_index: Tensor | AnyEdges,
        batch: Tensor | Segments | None = None,
        batch_size: int | None = None,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Tensor:
        """x [N, in_dim], edge_index [2, E], batch [N] -> [B, hidden_dim]"""
        edges, segments = ragged(self, x, edge_index, batch, batch_size, edge_weight, edge_attr)
        rows: Tensor | Columns = x  # [N, D] while ragged, [B, K, D] from the first pooling on
        last = len(self.blocks) - 1
        for i, block in enumerate(self.blocks):
            if isinstance(block, SelfAtt):
                rows = block(rows, segments)
                continue
            assert isinstance(block, GMPool)
            coarsen = self.later_adjacency == "coarsened" and i < last
            if isinstance(rows, Tensor) and rows.dim() == 3:
                segments = Segments.uniform(rows.shape[0], rows.shape[1], rows.device)
                rows = rows.flatten(0, 1)  # [B·K, D]
            pooled = block(rows, edges, segments, return_assignment=coarsen)
            if coarsen:
                edges = edges.coarsened(pooled.assignment, segments)
            rows = pooled.x
        return self.final(plain(rows).flatten(1))

    def assign(
        self,
        x: Tensor | Columns,
        edge_index: Tensor | AnyEdges,
        batch: Tensor | Segments | None = None,
        batch_size: int | None = None,
        *,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
    ) -> Pooled:
        """What the first pooling does: its K rows per graph, and the assignment C [N, K]."""
        edges, segments = ragged(self, x, edge_index, batch, batch_size, edge_weight, edge_attr)
        for block in self.blocks:
            if isinstance(block, GMPool):
                return block(x, edges, segments, return_assignment=True)
            x = block(x, segments)
        raise AssertionError("blocks always hold a GMPool")
