"""The yardstick: GMT in the padded formulation of the published code.

Nodes are copied into [B, max n, D] with a mask, keys and values are built by two graph convolutions
of PyG at full width, and attention runs over the padded rows. Same function as ours for blocks that
start with GMPool_G (tests/benchmarks/test_padded.py), written for comparison only.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_dense_batch

from gmpool.nn.attention import SeedAttention
from gmpool.nn.row_attention import RowAttention


class PaddedAttentionBlock(nn.Module):
    """Q + Att(Q, K, V), then O + ReLU(Linear(O)); heads by splitting the width."""

    def __init__(
        self, query_dim: int, in_dim: int, dim: int, heads: int, layer_norm: bool, graph: bool
    ) -> None:
        super().__init__()
        self.heads, self.dim, self.graph = heads, dim, graph
        self.to_query = nn.Linear(query_dim, dim)
        self.to_key = GCNConv(in_dim, dim) if graph else nn.Linear(in_dim, dim)
        self.to_value = GCNConv(in_dim, dim) if graph else nn.Linear(in_dim, dim)
        self.norm_in = nn.LayerNorm(dim) if layer_norm else nn.Identity()
        self.norm_out = nn.LayerNorm(dim) if layer_norm else nn.Identity()
        self.linear = nn.Linear(dim, dim)

    def forward(
        self, query: Tensor, x: Tensor, edge_index: Tensor | None, batch: Tensor | None
    ) -> Tensor:
        return self.attend(query, x, edge_index, batch)[0]

    def attend(
        self, query: Tensor, x: Tensor, edge_index: Tensor | None, batch: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(rows [B, K, D], attention [H·B, K, max n])"""
        q = self.to_query(query)  # [B, K, D]
        mask = None
        if self.graph:
            k, v = self.to_key(x, edge_index), self.to_value(x, edge_index)  # [N, D]
            (k, real), (v, _) = to_dense_batch(k, batch), to_dense_batch(v, batch)
            mask = (~real).to(k.dtype)[:, None] * -1e9  # [B, 1, max n]
        else:
            k, v = self.to_key(x), self.to_value(x)
        # Heads along the batch: [H·B, ·, D/H].
        q_, k_, v_ = (torch.cat(t.split(self.dim // self.heads, 2), 0) for t in (q, k, v))
        scores = q_ @ k_.transpose(1, 2) / self.dim**0.5
        if mask is not None:
            scores = scores + mask.repeat(self.heads, 1, 1)
        a = scores.softmax(1)
        o = torch.cat((q_ + a @ v_).split(q.shape[0], 0), 2)
        o = self.norm_in(o)
        return self.norm_out(o + torch.relu(self.linear(o))), a


class PaddedGMT(nn.Module):
    """GMPool_G-SelfAtt-GMPool_I, padded. Same call as GraphMultisetTransformer."""

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        *,
        num_seeds: int,
        num_heads: int = 1,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        self.seeds = nn.Parameter(torch.empty(1, num_seeds, in_dim))
        self.last_seed = nn.Parameter(torch.empty(1, 1, hidden_dim))
        nn.init.xavier_uniform_(self.seeds)
        nn.init.xavier_uniform_(self.last_seed)
        shape = (num_heads, layer_norm)
        self.pool = PaddedAttentionBlock(in_dim, in_dim, in_dim, *shape, graph=True)
        self.self_att = PaddedAttentionBlock(in_dim, in_dim, hidden_dim, *shape, graph=False)
        self.last = PaddedAttentionBlock(hidden_dim, hidden_dim, hidden_dim, *shape, graph=False)
        self.final = nn.Linear(hidden_dim, hidden_dim)

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int | None = None
    ) -> Tensor:
        B = batch_size if batch_size is not None else int(batch.max()) + 1
        rows = self.pool(self.seeds.expand(B, -1, -1), x, edge_index, batch)  # [B, K, D]
        rows = self.self_att(rows, rows, None, None)
        rows = self.last(self.last_seed.expand(B, -1, -1), rows, None, None)
        return self.final(rows[:, 0])


class PaddedGraphClassifier(nn.Module):
    """Three GCN layers of PyG with jumping knowledge, a readout, and the classifier."""

    def __init__(
        self,
        in_dim: int,
        hidden_dim: int,
        readout: nn.Module,
        head: nn.Module,
        *,
        jumping: bool,
    ) -> None:
        super().__init__()
        widths = [in_dim, hidden_dim, hidden_dim, hidden_dim]
        self.convs = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))
        self.readout, self.head, self.jumping = readout, head, jumping

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        layers = []
        for conv in self.convs:
            x = torch.relu(conv(x, edge_index))
            layers.append(x)
        rows = torch.cat(layers, 1) if self.jumping else x
        return self.head(self.readout(rows, edge_index, batch, batch_size))


def copy_weights(ours: nn.Module, padded: PaddedGMT) -> None:
    """Give the padded readout the weights of a GraphMultisetTransformer with default blocks."""
    pool, self_att, last = ours.blocks  # type: ignore[misc]
    pairs = [(pool, padded.pool), (self_att, padded.self_att), (last, padded.last)]
    with torch.no_grad():
        padded.seeds.copy_(pool.seeds[None])
        padded.last_seed.copy_(last.seeds[None])
        for block, yard in pairs:
            targets = (yard.to_query, yard.to_key, yard.to_value)
            for target, (weight, bias) in zip(targets, _projections(block.attention), strict=True):
                matrix = target.lin.weight if isinstance(target, GCNConv) else target.weight
                matrix.copy_(weight)
                target.bias.copy_(bias)
            yard.linear.load_state_dict(block.after.linear.state_dict())
            yard.norm_in.load_state_dict(block.after.norm_in.state_dict())
            yard.norm_out.load_state_dict(block.after.norm_out.state_dict())
        padded.final.load_state_dict(ours.final.state_dict())  # type: ignore[union-attr]


def _projections(attention: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """(weight, bias) of the query, key and value maps of one of our attention modules."""
    if isinstance(attention, RowAttention):
        fused = attention.to_query_key_value
        return list(zip(fused.weight.chunk(3), fused.bias.chunk(3), strict=True))
    assert isinstance(attention, SeedAttention)
    maps = (attention.to_query, attention.to_key, attention.to_value)
    return [(m.weight, m.bias) for m in maps]  # type: ignore[misc]
