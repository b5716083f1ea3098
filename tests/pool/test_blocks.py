"""GMPool and SelfAtt: what the transcribed equations say, in every combination of options."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graphs import random_batch
from paper_equations import BLOCK_OPTIONS, TOLERANCE, arr, gmpool, graphs_of, self_att, shake

from gmpool import GMPool, SelfAtt
from gmpool.errors import UserError

SIZES = [4, 1, 3, 0, 2]
DIM = 4
CONVS = ("gcn", "gin", None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["absorbed", "direct"])
@pytest.mark.parametrize("conv", CONVS)
def test_gmpool_is_the_equations(conv: str | None, form: str, weighted: bool) -> None:
    torch.manual_seed(0)
    batch = random_batch(SIZES, DIM, weighted=weighted and conv is not None)
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
def test_self_att_is_the_equations(ragged: bool) -> None:
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


def test_assignment_rows_sum_to_one() -> None:
    """Proposition 5: with a softmax over seeds, C shares each node out among the clusters."""
    batch = random_batch([5, 1, 0, 7], DIM)
    pool = GMPool(DIM, 3, num_heads=2).double()
    pooled = pool(batch.x, batch.edge_index, batch.batch, batch_size=4, return_assignment=True)
    assert pooled.assignment.shape == (13, 3)
    assert pooled.attention.shape == (13, 2, 3)
    torch.testing.assert_close(pooled.assignment.sum(1), torch.ones(13, dtype=torch.float64))
    torch.testing.assert_close(pooled.attention.mean(1), pooled.assignment)


def test_a_misspelt_option_raises() -> None:
    with pytest.raises(TypeError, match="softmaxx"):
        GMPool(4, 2, softmaxx="nodes")
    with pytest.raises(UserError, match="cannot change the width from 4 to 6"):
        SelfAtt(4, 6, residual="query")
