"""GMPool, SelfAtt and GMT agree with the transcribed equations in every combination of options."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from graphs import Batch, random_batch
from paper_equations import arr, gmpool, gmt, self_att

from gmpool import GMPool, GraphMultisetTransformer, SelfAtt

SIZES = [4, 1, 3, 0, 2]
DIM = 4
CONVS = ("gcn", "gin", None)
BLOCK_OPTIONS = [
    {"num_heads": h, "softmax": s, "layer_norm": n, "scale": c, "residual": r, "out_projection": o}
    for h, s, n, c, r, o in product(
        (1, 2),
        ("seeds", "nodes"),
        (False, True),
        ("width", "head", "none"),
        ("projected", "query"),
        (False, True),
    )
]
BLOCKS = (
    "GMPool_G-SelfAtt-GMPool_I",
    "GMPool_I-GMPool_G",
    "SelfAtt-GMPool_G",
    "GMPool_G",
    "GMPool_G-SelfAtt-SelfAtt-GMPool_I-GMPool_I",
)
TOLERANCE = 1e-10


def shake(module: torch.nn.Module) -> torch.nn.Module:
    """Random parameters everywhere: zero biases and unit norms would hide mistakes."""
    with torch.no_grad():
        for p in module.parameters():
            p.normal_(0, 0.5)
    return module.double()


def graphs_of(batch: Batch) -> list[tuple[list[np.ndarray], np.ndarray]]:
    alone = [batch.alone(b) for b in range(batch.size)]
    return [(list(arr(g.x)), g.dense()) for g in alone]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["absorbed", "direct"])
@pytest.mark.parametrize("conv", CONVS)
def test_gmpool(conv: str | None, form: str, weighted: bool) -> None:
    torch.manual_seed(0)
    batch = random_batch(SIZES, DIM, weighted=weighted)
    for options in BLOCK_OPTIONS:
        block = shake(GMPool(DIM, 3, conv=conv, **options))
        if form == "absorbed" and not block.attention.absorbable:
            assert conv == "gin"
            continue
        block.attention.form = form
        pooled = block(
            batch.x,
            batch.edge_index,
            batch.batch,
            edge_weight=batch.weight,
            batch_size=batch.size,
            return_assignment=True,
        )
        for b, (rows, A) in enumerate(graphs_of(batch)):
            expected, C = gmpool(block, rows, A)
            np.testing.assert_allclose(arr(pooled.x[b]), expected, atol=TOLERANCE, rtol=0)
            mine = arr(pooled.assignment)[batch.batch.numpy() == b]
            np.testing.assert_allclose(mine, C, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("ragged", [False, True])
def test_self_att(ragged: bool) -> None:
    torch.manual_seed(0)
    batch = random_batch(SIZES if ragged else [3, 3, 3], DIM)
    for options in BLOCK_OPTIONS:
        width = DIM if options["residual"] == "query" else 6
        block = shake(SelfAtt(DIM, width, **options))
        if ragged:
            out = block(batch.x, batch.batch, batch_size=batch.size)
        else:
            out = block(batch.x.view(3, 3, DIM)).flatten(0, 1)
        for b, (rows, _) in enumerate(graphs_of(batch)):
            if rows:
                mine = arr(out)[batch.batch.numpy() == b]
                np.testing.assert_allclose(mine, self_att(block, rows), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("later", ["identity", "coarsened"])
@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_gmt(blocks: str, conv: str | None, later: str) -> None:
    if later == "coarsened" and blocks.count("GMPool") < 2:
        with pytest.raises(Exception, match="has no effect"):
            GraphMultisetTransformer(DIM, 2, num_seeds=3, blocks=blocks, later_adjacency=later)
        return
    torch.manual_seed(0)
    batch = random_batch(SIZES, DIM)
    graphs = graphs_of(batch)
    for number, options in enumerate(BLOCK_OPTIONS):
        model = shake(
            GraphMultisetTransformer(
                DIM,
                2,
                num_seeds=3,
                ratio=0.5,
                conv=conv,
                blocks=blocks,
                later_adjacency=later,
                final_linear=bool(number % 2),
                **options,
            )
        )
        out = model(batch.x, batch.edge_index, batch.batch, batch.size)
        assert out.shape == (batch.size, 2)
        for b, (rows, A) in enumerate(graphs):
            np.testing.assert_allclose(arr(out[b]), gmt(model, rows, A), atol=TOLERANCE, rtol=1e-10)
