"""SortPool's order, and what its readout sees."""

from __future__ import annotations

import pytest
import torch
from graphs import Batch, random_batch
from torch_geometric.nn.aggr import SortAggregation

from gmpool.errors import UserError
from gmpool.ops.segment import Segments
from gmpool.pool.method import GraphSizes
from gmpool.pool.sortpool import ConvolutionReadout, SortPool

DIM = 5


@pytest.mark.parametrize("ties", ["content", "position"])
@pytest.mark.parametrize("rows", [1, 3, 8])
def test_order_agrees_with_pyg(rows: int, ties: str) -> None:
    batch = random_batch([6, 1, 9, 2], DIM, seed=3)
    pool = SortPool(DIM, DIM, num_rows=rows, ties=ties).double()
    segments = Segments.from_batch(batch.batch, len(batch.x), None, batch.size)
    ours = pool.sorted_rows(batch.x, segments)
    pyg = SortAggregation(rows)(batch.x, batch.batch, dim_size=batch.size)
    torch.testing.assert_close(ours.flatten(1), pyg)


def test_order_by_hand() -> None:
    x = torch.tensor([[1.0, 2.0], [5.0, 3.0], [7.0, 1.0], [0.0, 9.0]])
    pool = SortPool(2, 2, num_rows=3)
    rows = pool.sorted_rows(x, Segments.from_batch(torch.tensor([0, 0, 0, 1]), 4, None, 2))
    assert rows.tolist() == [[[5, 3], [1, 2], [7, 1]], [[0, 9], [0, 0], [0, 0]]]


def test_an_unsorted_batch() -> None:
    batch = random_batch([6, 4], DIM)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    pool = SortPool(DIM, DIM, num_rows=4).double()
    one = pool(batch.x, batch.edge_index, batch.batch, batch_size=2).x
    other = pool(batch.x[order], batch.edge_index, batch.batch[order], batch_size=2).x
    torch.testing.assert_close(one, other)


def test_how_many_rows() -> None:
    sizes = GraphSizes(17.9, deciles=(3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15))
    assert SortPool(DIM, DIM, sizes=sizes).rows_per_graph == 5
    assert SortPool(DIM, DIM, sizes=sizes, rule="size60").rows_per_graph == 10  # DGCNN's least
    with pytest.raises(UserError, match="num_rows must lie between 1 and 10,000, got 0"):
        SortPool(DIM, DIM, num_rows=0)
    with pytest.raises(UserError, match="give either the number"):
        SortPool(DIM, DIM)


@pytest.mark.parametrize("rows", range(1, 14))
def test_the_readout_fits_every_number_of_rows(rows: int) -> None:
    readout = ConvolutionReadout(DIM, rows)
    assert readout(torch.randn(3, rows, DIM)).shape == (3, readout.out_dim)


def a_path_with_ties() -> Batch:
    """Nodes that agree in the feature that SortPool sorts by."""
    start = torch.arange(7)
    x = torch.randn(8, DIM, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[:, -1] = 0.0
    edges = torch.stack([start, start + 1])
    return Batch(x, torch.cat([edges, edges.flip(0)], 1), torch.zeros(8, dtype=torch.long), 1)


@pytest.mark.parametrize("ties", ["content", "position"])
def test_ties_are_broken_by_content_or_by_the_order_of_nodes(ties: str) -> None:
    torch.manual_seed(0)
    pool, one = SortPool(DIM, DIM, num_rows=4, ties=ties).double(), a_path_with_ties()
    generator = torch.Generator().manual_seed(1)
    moved = one.permuted(torch.randperm(8, generator=generator), torch.arange(14))
    here, there = (pool(b.x, b.edge_index, b.batch, batch_size=1).x for b in (one, moved))
    assert torch.allclose(here, there) == (ties == "content")
