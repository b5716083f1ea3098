"""Set2Set against PyG's, weights copied over."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch
from torch_geometric.nn import aggr

from gmpool.errors import UserError
from gmpool.pool.set2set import Set2Set

DIM = 5


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_agrees_with_pyg(steps: int) -> None:
    batch = random_batch([6, 1, 9], DIM)
    batch.x.requires_grad_()
    torch.manual_seed(0)
    ours = Set2Set(DIM, DIM, steps=steps).double()
    pyg = aggr.Set2Set(DIM, processing_steps=steps).double()
    with torch.no_grad():
        pyg.lstm.weight_ih_l0.copy_(ours.from_input.weight)
        pyg.lstm.weight_hh_l0.copy_(ours.from_state.weight)
        pyg.lstm.bias_ih_l0.copy_(ours.from_input.bias)
        pyg.lstm.bias_hh_l0.copy_(ours.from_state.bias)
    out = ours(batch.x, batch.edge_index, batch.batch, batch_size=3).x
    expected = pyg(batch.x, batch.batch, dim_size=3)
    torch.testing.assert_close(out, expected)
    (grad,) = torch.autograd.grad(out.square().sum(), batch.x)
    (other,) = torch.autograd.grad(expected.square().sum(), batch.x)
    torch.testing.assert_close(grad, other)


def test_no_steps() -> None:
    with pytest.raises(UserError, match="option steps must lie between 1 and 1,000, got 0"):
        Set2Set(DIM, DIM, steps=0)
