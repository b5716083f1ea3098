"""Rows of bonds, each with a kind and a way back: more than graphs have, for any two may be one."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.ops.directed_messages.reference import directed_messages_reference


class DirectedBonds(NamedTuple):
    code: Tensor  # [E]
    rowptr: Tensor  # [N+1]
    back: Tensor  # [E]

    def on(self, device: str) -> DirectedBonds:
        return DirectedBonds(*(t.to(device) for t in self))


def random_bonds(rows: int, entries: int, kinds: int, seed: int) -> DirectedBonds:
    """Rows of any length, the first of which has twice as many as others. An odd number of entries
    leaves one that is its own way back."""
    generator = torch.Generator().manual_seed(seed)
    row = torch.randint(-1, rows, (entries,), generator=generator).clamp(min=0)
    rowptr = torch.zeros(rows + 1, dtype=torch.int64)
    rowptr[1:] = torch.bincount(row, minlength=rows).cumsum(0)
    back, order = torch.arange(entries), torch.randperm(entries, generator=generator)
    one, other = order[: entries // 2], order[entries // 2 : entries // 2 * 2]
    back[one], back[other] = other, one
    code = torch.randint(kinds, (entries,), generator=generator).to(torch.uint8)
    return DirectedBonds(code, rowptr, back)


def reference(own: Tensor, table: Tensor, g: Tensor | None, bonds: DirectedBonds) -> Tensor:
    return directed_messages_reference(own, table, bonds.code, g, bonds.rowptr, bonds.back)
