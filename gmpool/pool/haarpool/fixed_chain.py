"""Batches of fixed shape along a chain of clusterings.

What a batch has of each level comes from the whole set's chain by index arithmetic, within bounds
of its own. The made-up graph of a batch has made-up clusters, to which its nodes go; their Haar
functions weigh nothing.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from gmpool.data.fixed_batch import Bounds, FixedBatch, FixedBatches
from gmpool.data.packed import PackedGraphs
from gmpool.pool.haarpool.chain import Level
from gmpool.pool.haarpool.chain_cache import chain_of

OF_LEVEL = len(Bounds._fields) + 1  # bounds of a level: of its graphs, and of entries of its bases


class ChainBounds(tuple[int, ...]):
    """Bounds of the batch and then of each level: of its coarse graphs, and of their bases."""

    def __new__(cls, *numbers: int) -> ChainBounds:
        return super().__new__(cls, numbers)


class ChainBatches(FixedBatches):
    """Batches that hold the levels of their chain: `more` has those of level 0 as "0.…"."""

    def __init__(self, graphs: PackedGraphs, *, levels: int, **what: Any) -> None:
        super().__init__(graphs, **what)
        self.levels: list[_FixedLevel] = []
        below: FixedBatches = self
        plain = bool(what["plain"]) or self.bits is not None
        for level in chain_of(graphs, levels):
            self.levels.append(_FixedLevel(level, below, plain=plain))
            below = self.levels[-1].coarse

    def bounds(self, ids: Tensor) -> Any:
        of_levels = [level.bounds(ids) for level in self.levels]
        return ChainBounds(*super().bounds(ids), *(n for level in of_levels for n in level))

    def make(self, ids: Tensor, bounds: Any) -> FixedBatch:
        first = len(Bounds._fields)
        batch = below = super().make(ids, Bounds(*bounds[:first]))
        more: dict[str, Tensor] = {}
        starts = range(first, len(bounds) + 1, OF_LEVEL)
        for number, (level, (a, b)) in enumerate(zip(self.levels, pairwise(starts), strict=True)):
            parts, below = level.make(ids, below, bounds[a:b])
            more |= {f"{number}.{name}": tensor for name, tensor in parts.items()}
        return replace(batch, more=more)


class _FixedLevel:
    """What a batch of fixed shape has of a level."""

    def __init__(self, level: Level, below: FixedBatches, *, plain: bool) -> None:
        """below: of the graphs whose nodes are clustered."""
        self.below, last = below, level.basis is None
        # After the last level nobody passes messages on.
        wanted = {"plain": plain and not last, "normalised": not last, "attr": False}
        self.coarse = FixedBatches(level.graphs, **wanted)
        self.basis: FixedBatches | None = None
        if level.basis is not None:
            what = {"plain": True, "normalised": False, "attr": False, "back": True}
            self.basis = FixedBatches(level.basis, **what)
        none = torch.zeros(1, dtype=torch.int64, device=level.counts.device)
        self.cluster = torch.cat([level.cluster, none.to(level.cluster)])
        self.members = torch.cat([level.members, none.to(level.members)])
        self.counts = torch.cat([level.counts, none])

    def bounds(self, ids: Tensor) -> list[int]:
        entries = 0 if self.basis is None else self.basis.bounds(ids).edges
        return [*self.coarse.bounds(ids), entries]

    def make(
        self, ids: Tensor, below: FixedBatch, bounds: tuple[int, ...]
    ) -> tuple[dict[str, Tensor], FixedBatch]:
        """(its tensors by name, its coarse graphs); below: the batch of level - 1."""
        of_coarse = Bounds(*bounds[:-1])
        coarse = self.coarse.make(ids, of_coarse)
        parts = self._clusters(ids, below, coarse)
        parts |= {f"coarse.{name}": tensor for name, tensor in coarse.tensors().items()}
        if self.basis is not None:
            basis = self.basis.make(ids, of_coarse._replace(edges=bounds[-1]))
            parts |= {f"basis.{name}": tensor for name, tensor in basis.tensors().items()}
        return parts, coarse

    def _clusters(self, ids: Tensor, below: FixedBatch, coarse: FixedBatch) -> dict[str, Tensor]:
        (R, B), (N, M) = ids.shape, (below.num_nodes, coarse.num_nodes)
        node, row = (torch.arange(n, device=ids.device).expand(R, n) for n in (N, M))
        real_nodes, real_rows = below.ptr[:, -2:-1], coarse.ptr[:, -2:-1]
        counts = self.counts[self.coarse.where(ids, coarse.ptr, coarse.batch)]  # [R, M]
        # Made-up nodes are shared out among the made-up clusters.
        spread = real_nodes + (row + 1 - real_rows) * (N - real_nodes) // (M - real_rows)
        ends = torch.where(row < real_rows, counts.cumsum(1), spread)
        where, there = self.below.where(ids, below.ptr, below.batch), below.batch < B
        cluster = coarse.ptr.gather(1, below.batch) + self.cluster[where]
        made_up = torch.searchsorted(ends, node.contiguous(), right=True)
        members = below.ptr.gather(1, below.batch) + self.members[where]
        return {
            "ends": torch.cat([ends.new_zeros(R, 1), ends], dim=1),
            "members": torch.where(there, members, node),
            "cluster": torch.where(there, cluster, made_up),
            "counts": counts,
        }
