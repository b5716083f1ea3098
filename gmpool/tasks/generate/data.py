"""Small molecules as rows of an alphabet, and batches of them as graphs that a critic reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gmpool.data import Split
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.model import GraphBatch


@dataclass(frozen=True, eq=False)
class SmallMolecules:
    """A dataset of molecules, and batches of fixed shape of it.

    rows: uint8 [M, width]. dtype: of batches.
    """

    name: str
    digest: str
    alphabet: Alphabet
    rows: Tensor
    smiles: tuple[str, ...]
    train: Tensor
    """int64: those to learn from."""
    understood: tuple[str, ...] = ()
    dtype: torch.dtype = torch.float32

    @property
    def empty(self) -> int:
        """The number of no molecule; batches have none."""
        return len(self)

    @property
    def split(self) -> Split:
        """Nothing is chosen or tested by examples that are kept back."""
        return Split(self.train, self.train[:0], self.train[:0])

    @cached_property
    def known_by(self) -> tuple[object, ...]:
        """What scores of molecules like these depend on."""
        return self.digest, self.alphabet, self.split.digest

    def __len__(self) -> int:
        return self.rows.shape[0]

    def to(self, device: str) -> SmallMolecules:
        return replace(self, rows=self.rows.to(device))

    def batches(
        self, ids: Tensor, batch_size: int, generator: torch.Generator | None = None
    ) -> Iterator[GraphBatch]:
        if generator is not None:
            ids = ids[torch.randperm(len(ids), generator=generator)]
        for part in ids.to(self.rows.device).split(batch_size):
            yield self.make(part, ())

    def bounds(self, ids: Tensor) -> tuple[int, ...]:
        return ()

    def make(self, ids: Tensor, bounds: Any) -> GraphBatch:
        """ids [..., B] -> graphs [..., B, F]"""
        found = self.rows.index_select(0, ids.flatten())  # [B, width]
        n = self.alphabet.places
        # A pair of a place with itself is a column of zeros after all others.
        wide = torch.cat([found[:, n:], found.new_zeros(len(found), 1)], dim=1)
        bonds = wide.index_select(1, self._pair_columns)
        graphs = torch.cat(
            [_one_hot(bonds, self.alphabet.bond_kinds, self.dtype),
             _one_hot(found[:, :n], self.alphabet.atom_kinds, self.dtype)], dim=1,
        )  # fmt: skip
        return GraphBatch(graphs.unflatten(0, ids.shape))

    @cached_property
    def _pair_columns(self) -> Tensor:
        """The column of each ordered pair of places, on the device of the rows: a program that is
        being captured copies nothing from the host. [n·n]"""
        n, pairs = self.alphabet.places, self.alphabet.pairs
        low, high = np.triu_indices(n, 1)
        column = np.full((n, n), pairs)
        column[low, high] = column[high, low] = np.arange(pairs)
        return torch.from_numpy(column.flatten()).to(self.rows.device)


def _one_hot(kinds: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    """[B, m] -> [B, m·count]"""
    each = torch.arange(count, device=kinds.device, dtype=kinds.dtype)
    return (kinds[:, :, None] == each).to(dtype).flatten(1)
