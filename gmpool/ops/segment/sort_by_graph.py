"""The nodes of a batch vector graph by graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.errors import UserError
from gmpool.ops.replicas import shifted
from gmpool.ops.row_ids import stable_order


def sort_by_graph(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    """(order [N], ptr [B+1]) of a batch vector in any order."""
    return _sort_by_graph(batch, num_graphs)


@torch.library.custom_op("gmpool::sort_by_graph", mutates_args=())
def _sort_by_graph(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    """(order, ptr). The check for an already sorted batch lives inside the operator, so that it
    costs one pass and does not break a compiled graph."""
    N, graphs = batch.numel(), torch.arange(num_graphs + 1, device=batch.device)
    if N == 0:
        return graphs[:0], torch.zeros_like(graphs)
    in_order = (batch[1:] >= batch[:-1]).all()
    # All that is asked of a device, in one question.
    smallest, largest, sorted_already = torch.stack([*batch.aminmax(), in_order.to(batch)]).tolist()
    if smallest < 0 or largest >= num_graphs:
        raise UserError(
            f"batch holds graph {largest} (smallest {smallest}), but batch_size "
            f"is {num_graphs}: entries must lie in 0 … {num_graphs - 1}"
        )
    if sorted_already:
        order = torch.arange(N, device=batch.device)
        return order, torch.searchsorted(batch.contiguous(), graphs.to(batch))
    order = stable_order(batch, num_graphs)
    return order, torch.searchsorted(batch.index_select(0, order), graphs.to(batch))


@_sort_by_graph.register_fake
def _(batch: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    return (
        torch.empty_like(batch, dtype=torch.long),
        batch.new_empty(num_graphs + 1, dtype=torch.long),
    )


@_sort_by_graph.register_vmap
def _(info: Any, in_dims: Any, batch: Tensor, num_graphs: int) -> Any:
    R = info.batch_size
    N = batch.shape[1 - in_dims[0]]
    order, ptr = _sort_by_graph(shifted(batch, in_dims[0], R, num_graphs), R * num_graphs)
    first = torch.arange(R, device=batch.device)[:, None]
    starts = ptr[:-1].view(R, num_graphs) - first * N
    ends = starts.new_full((R, 1), N)
    return (order.view(R, N) - first * N, torch.cat([starts, ends], dim=1)), (0, 0)
