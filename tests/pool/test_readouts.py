"""MemPool, DeepSets and Set Transformer against PyG's, weights copied over."""

from __future__ import annotations

import torch
from graphs import random_batch
from torch import nn
from torch_geometric.nn import MemPooling, aggr

from gmpool.ops.segment import Segments
from gmpool.pool.blocks import GMPool, SelfAtt
from gmpool.pool.deepsets import DeepSets
from gmpool.pool.mempool import MemoryLayer, sharpening_loss
from gmpool.pool.set_transformer import SetTransformer

DIM, HEADS = 8, 2


def test_memory_layer_agrees_with_pyg() -> None:
    batch = random_batch([6, 1, 9], DIM)
    torch.manual_seed(0)
    ours = MemoryLayer(DIM, 4, num_keys=3, num_heads=HEADS, tau=1.5).double()
    pyg = MemPooling(DIM, 4, HEADS, 3, tau=1.5).double()
    with torch.no_grad():
        pyg.k.copy_(ours.keys)
        pyg.conv.weight.copy_(ours.heads.weight.view(1, HEADS, 1, 1))
        pyg.lin.weight.copy_(ours.linear.weight)
    segments = Segments.from_batch(batch.batch, len(batch.x), None, 3)
    rows, c = ours(batch.x, segments)
    expected, s = pyg(batch.x, batch.batch)
    torch.testing.assert_close(rows, expected)
    for b, n in enumerate([6, 1, 9]):
        mine = c[batch.batch == b]
        torch.testing.assert_close(mine, s[b, :n])
        # PyG divides by the number of graphs, we by the number of nodes.
        alone = sharpening_loss(mine, Segments.from_batch(None, n, None, 1))
        torch.testing.assert_close(alone, MemPooling.kl_loss(s[b : b + 1, :n].clone()) / n)


def test_deepsets_agrees_with_pyg() -> None:
    batch = random_batch([6, 1, 9], DIM)
    ours = DeepSets(DIM, 4).double()
    pyg = aggr.DeepSetsAggregation(ours.of_node, ours.of_sum)
    torch.testing.assert_close(
        ours(batch.x, batch.edge_index, batch.batch, batch_size=3).x,
        pyg(batch.x, batch.batch, dim_size=3),
    )


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
