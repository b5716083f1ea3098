"""Batch norm, beside PyTorch's and of rows that count."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from gmpool.errors import UserError
from gmpool.nn.batch_norm import BatchNorm, check_place, rows_that_count, running_of
from gmpool.ops.segment import Segments


def beside_pytorch() -> tuple[BatchNorm, nn.BatchNorm1d]:
    ours, theirs = BatchNorm(4).double(), nn.BatchNorm1d(4).double()
    with torch.no_grad():
        for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            own.copy_(torch.randn(4))
            other.copy_(own)
    return ours, theirs


@pytest.mark.parametrize("fillers", [0, 3])
def test_it_is_pytorchs_of_the_rows_that_count(fillers: int) -> None:
    """Outputs, gradients and running statistics over some steps, and then an evaluation; also where
    what fills up is no number."""
    torch.manual_seed(0)
    ours, theirs = beside_pytorch()
    counts = torch.cat([torch.ones(7), torch.zeros(fillers)]) if fillers else None
    rest = torch.tensor([torch.inf, -1e30, 5.0]).double()[:fillers, None].expand(-1, 4)
    for training in (True, True, False):
        ours.train(training)
        theirs.train(training)
        rows = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
        alike = rows.detach().clone().requires_grad_()
        out = ours(torch.cat([rows, rest]), counts)[:7]
        expected = theirs(alike)
        torch.testing.assert_close(out, expected)
        weights = torch.randn(7, 4, dtype=torch.float64)
        (out * weights).sum().backward()
        (expected * weights).sum().backward()
        torch.testing.assert_close(rows.grad, alike.grad)
        for name in ("running_mean", "running_var"):
            torch.testing.assert_close(ours.get_buffer(name), theirs.get_buffer(name))


def test_one_row_alone_has_no_variance() -> None:
    norm = BatchNorm(2)
    assert torch.equal(norm(torch.tensor([[3.0, -1.0]])), torch.zeros(1, 2))
    torch.testing.assert_close(norm.running_mean, torch.tensor([0.3, -0.1]))
    torch.testing.assert_close(norm.running_var, torch.tensor([0.9, 0.9]))


def test_which_rows_count() -> None:
    batch, ptr = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 2, 3, 4])
    order = torch.arange(4)
    assert rows_that_count(Segments(batch, order, ptr)) is None
    found = rows_that_count(Segments(batch, order, ptr, torch.tensor([1.0, 1.0, 0.0])))
    assert found is not None
    assert found.tolist() == [1, 1, 1, 0]


def test_the_names_of_what_follows_batches() -> None:
    both = ["running_mean", "running_var"]
    assert running_of(BatchNorm(2)) == both
    assert running_of(nn.Sequential(nn.Linear(2, 2), BatchNorm(2))) == [f"1.{n}" for n in both]
    assert running_of(nn.Linear(2, 2)) == []


@pytest.mark.parametrize(("place", "conv", "layers", "said"), [
    ("before", "gin", 3, "place of batch norms"),
    ("after", "gcn", 0, "is of convolutions, and num_layers=0 has none"),
    ("inside", "gcn", 3, "only conv=gin has two linear maps .* take batch_norm=after"),
    ("both", "gcn", 3, "only conv=gin"),
])  # fmt: skip
def test_a_place_that_there_is_not(place: str, conv: str, layers: int, said: str) -> None:
    check_place(None, conv, layers)
    with pytest.raises(UserError, match=said):
        check_place(place, conv, layers)
