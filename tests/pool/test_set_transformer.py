"""Set Transformer against PyG's, weights copied over."""

from __future__ import annotations

import torch
from graphs import random_batch
from torch import nn
from torch_geometric.nn import aggr

from gmpool.pool.blocks import GMPool, SelfAtt
from gmpool.pool.set_transformer import SetTransformer

DIM, HEADS = 8, 2


def copy_norms(ours: nn.Module, block: nn.Module) -> None:
    block.lin.load_state_dict(ours.after.linear.state_dict())
    block.layer_norm1.load_state_dict(ours.after.norm_in.state_dict())
    block.layer_norm2.load_state_dict(ours.after.norm_out.state_dict())


def copy_self(ours: SelfAtt, block: nn.Module) -> None:
    attention = ours.attention
    block.attn.in_proj_weight.copy_(attention.to_query_key_value.weight)
    block.attn.in_proj_bias.copy_(attention.to_query_key_value.bias)
    block.attn.out_proj.weight.copy_(attention.out_projection.weight)
    block.attn.out_proj.bias.zero_()  # ours has none
    copy_norms(ours, block)


def copy_seeds(ours: GMPool, pma: nn.Module) -> None:
    pma.seed.copy_(ours.seeds[None])
    attention, block = ours.attention, pma.mab
    parts = (attention.to_query, attention.to_key, attention.to_value)
    block.attn.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    block.attn.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    block.attn.out_proj.weight.copy_(attention.out_projection.weight)
    block.attn.out_proj.bias.zero_()  # ours has none
    copy_norms(ours, block)


def test_set_transformer_agrees_with_pyg() -> None:
    """Ragged against padded, for graphs of very different sizes."""
    batch = random_batch([6, 1, 19], 5)
    torch.manual_seed(0)
    ours = SetTransformer(5, DIM, num_seeds=2, num_heads=HEADS).double()
    pyg = aggr.SetTransformerAggregation(DIM, 2, heads=HEADS, layer_norm=True).double()
    with torch.no_grad():
        copy_self(ours.encode, pyg.encoders[0].mab)
        pyg.pma.lin.load_state_dict(ours.linear.state_dict())
        copy_seeds(ours.to_seeds, pyg.pma)
        copy_self(ours.decode, pyg.decoders[0].mab)
    out = ours(batch.x, batch.edge_index, batch.batch, batch_size=3).x
    expected = pyg(ours.narrow(batch.x), batch.batch, dim_size=3)
    torch.testing.assert_close(out, expected)
