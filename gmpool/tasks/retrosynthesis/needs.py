"""How much each reaction needs of a batch of fixed shape, and so how large a batch may become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gmpool.data.packed import PackedGraphs
from gmpool.tasks.retrosynthesis.batch import Bounds
from gmpool.tasks.retrosynthesis.drawn import NEGATIVES
from gmpool.tasks.retrosynthesis.lists import CandidateLists

DEVIATIONS = 8.0
LOOKED_AT = 2048
"""Batches that are looked at one by one."""
_BATCHES = 256
_ONE = 1 + NEGATIVES
_TWO = 1 + 2 * NEGATIVES


@dataclass(frozen=True)
class Needs:
    """Columns are the fields of Bounds after the first, rows the reactions, the last one none.

    What can be summed up is counted for every batch. Of the rest, many batches are as large as some
    of them say, and DEVIATIONS more: a larger one does not happen. If it did, it would have no
    features but NaN (`maker.py`): nothing is learned from a part of it.

    whole: with all candidates. drawn: with as many as are drawn at most. shared: of centers,
    templates and fragments, which many reactions have in common, who has which.
    """

    whole: Tensor  # [n+1, F]
    drawn: Tensor
    shared: Sequence[Shared]
    chance: Chance

    names = Bounds._fields[1:]

    def bounds(self, ids: Tensor, *, whole: bool) -> Bounds:
        """What the batches ids [..., B] need."""
        table = self.whole if whole else self.drawn
        flat = ids.reshape(-1, ids.shape[-1])
        most = torch.stack([table[part].sum(1).amax(0) for part in flat.split(4096)]).amax(0)
        found = dict(zip(Bounds._fields[1:], most.tolist(), strict=True))
        some = flat[:: -(-len(flat) // LOOKED_AT)].numpy()
        for each in self.shared:
            found |= each.most(some, all_of_them=len(some) == len(flat))
        for name, number in {} if whole else self.chance.most(flat).items():
            found[name] = min(found[name], number)
        return Bounds(int(whole), **{name: number + 1 for name, number in found.items()})

    @classmethod
    def of(
        cls,
        lists: CandidateLists,
        templates: Any,
        center_graph: Tensor,
        centers: PackedGraphs,
        fragments: PackedGraphs,
        molecules: PackedGraphs,
    ) -> Needs:
        sizes = {"c": _sizes(centers), "f": _sizes(fragments), "m": _sizes(molecules)}
        n = len(lists.product)
        product = _each(sizes["m"], lists.product.numpy())

        of_center = _Owned(lists.center_ptr)
        graph = center_graph.numpy()[lists.centers.numpy()]
        center = of_center.distinct(graph, sizes["c"])
        center_counts = of_center.counts

        of_template = _Owned(lists.template_ptr)
        number = template_number = lists.templates.numpy()
        fragment_counts = templates.fragment_ptr.diff().numpy()
        entries = of_template.sums(fragment_counts[number])
        widest = of_template.tops(fragment_counts[number])
        owner, at = _spread(templates.fragment_ptr.numpy(), number)
        of_fragment = _Owned(None, of_template.owner[owner], n)
        fragment_number = templates.fragments.numpy()[at]
        fragment = of_fragment.distinct(fragment_number, sizes["f"])

        of_outcome = _Owned(lists.outcome_ptr)
        outcome = lists.outcomes.numpy()
        ptr = lists.molecule_ptr.numpy()
        in_outcome = np.diff(ptr)[outcome]
        owner, at = _spread(ptr, outcome)
        of_molecule = _Owned(None, of_outcome.owner[owner], n)
        number = lists.molecules.numpy()[at]
        molecule = of_molecule.distinct(number, sizes["m"])
        each = sizes["m"][number]  # [k, 2]
        by_outcome = np.stack(
            [np.bincount(owner, each[:, j], minlength=len(outcome)) for j in (0, 1)], axis=1
        )
        tops = np.stack([of_outcome.tops(by_outcome[:, j]) for j in (0, 1)], axis=1)
        molecule_entries, widest_outcome = of_outcome.sums(in_outcome), of_outcome.tops(in_outcome)

        few = np.minimum(of_outcome.counts, _ONE)
        choices = np.minimum(of_template.counts, _TWO)
        matching = np.minimum(center_counts, _ONE)
        pairs = lists.pair_ptr.diff().numpy()
        whole = [
            *product.T, center_counts, *center.T, of_template.counts, of_template.counts, entries,
            *fragment.T, of_outcome.counts, molecule_entries, *molecule.T, pairs,
        ]  # fmt: skip
        drawn = [
            *product.T, matching, np.minimum(center[:, 0], matching), *center[:, 1:].T,
            choices, choices, np.minimum(entries, choices * widest), *fragment.T, few,
            np.minimum(molecule_entries, few * widest_outcome),
            np.minimum(molecule[:, 0], few * widest_outcome),
            *np.minimum(molecule[:, 1:], few[:, None] * tops).T, pairs,
        ]  # fmt: skip
        names = ("graphs", "nodes", "edges")
        shared = [
            Shared.of(n, of_center.owner, graph, _with_ones(sizes["c"]),
                      [f"center_{name}" for name in names]),
            Shared.of(n, of_fragment.owner, fragment_number, _with_ones(sizes["f"]),
                      [f"fragment_{name}" for name in names]),
            Shared.of(n, of_template.owner, template_number,
                      np.stack([np.ones_like(fragment_counts), fragment_counts], axis=1),
                      ["templates", "fragment_entries"]),
        ]  # fmt: skip
        chance = Chance.of(of_outcome, of_molecule.owner, number, in_outcome, sizes["m"], few)
        return cls(_table(whole), _table(drawn), shared, chance)


@dataclass(frozen=True)
class Shared:
    """Which of some things each reaction has, a bit for each, and what each of them counts for."""

    bits: np.ndarray  # uint8 [n+1, ⌈things / 8⌉]
    counts: np.ndarray  # float32 [things, fields]
    fields: Sequence[str]

    @classmethod
    def of(
        cls, n: int, owner: np.ndarray, thing: np.ndarray, counts: np.ndarray, fields: Sequence[str]
    ) -> Shared:
        bits = np.zeros((n, -(-len(counts) // 8)), dtype=np.uint8)
        flags = (128 >> (thing & 7)).astype(np.uint8)  # as np.unpackbits reads them
        np.bitwise_or.at(bits, (owner, thing >> 3), flags)
        return cls(bits, counts.astype(np.float32), fields)

    def most(self, ids: np.ndarray, *, all_of_them: bool) -> dict[str, int]:
        """The most that a batch has, each thing once. ids [m, B]: all batches, or some."""
        found = []
        for at in range(0, len(ids), _BATCHES):
            any_has = np.bitwise_or.reduce(self.bits[ids[at : at + _BATCHES]], axis=1)
            has = np.unpackbits(any_has, axis=1, count=len(self.counts))
            found.append(has @ self.counts)
        each = np.concatenate(found)  # [m, fields]
        top = each.max(0)
        if not all_of_them:
            far = each.mean(0) + DEVIATIONS * each.std(0)
            top = np.minimum(np.maximum(top, far), self.counts.sum(0))
        return dict(zip(self.fields, np.ceil(top).astype(int).tolist(), strict=True))


@dataclass(frozen=True)
class Chance:
    """What the drawn outcomes of a reaction need: mean and variance of each of FIELDS, [n+1, 4]."""

    mean: Tensor
    variance: Tensor

    FIELDS = ("molecule_graphs", "molecule_nodes", "molecule_edges", "molecule_entries")

    @classmethod
    def of(
        cls, outcomes: _Owned, owner: np.ndarray, molecule: np.ndarray, parts: np.ndarray,
        sizes: np.ndarray, drawn: np.ndarray,
    ) -> Chance:  # fmt: skip
        """owner, molecule: of each molecule of each outcome. parts: molecules of each outcome.
        drawn: outcomes that are drawn of each reaction."""
        n = len(outcomes.counts)
        key, times = np.unique(owner.astype(np.int64) * len(sizes) + molecule, return_counts=True)
        of, graph = np.divmod(key, len(sizes))
        share = drawn[of] / np.maximum(outcomes.counts[of], 1)
        there = 1 - (1 - share) ** times  # without replacement it is there a little more often
        there = np.where(share < 1, np.minimum(there * 1.02, 1.0), 1.0)
        size = _with_ones(sizes)[graph]  # [k, 3]
        mean = [np.bincount(of, there * size[:, j], minlength=n) for j in range(3)]
        spread = there * (1 - there)
        variance = [np.bincount(of, spread * size[:, j] ** 2.0, minlength=n) for j in range(3)]
        each = drawn[outcomes.owner] / np.maximum(outcomes.counts[outcomes.owner], 1)
        mean.append(np.bincount(outcomes.owner, each * parts, minlength=n))
        spread = each * (1 - each) * parts.astype(np.float64) ** 2
        variance.append(np.bincount(outcomes.owner, spread, minlength=n))
        return cls(*(torch.from_numpy(np.stack(rows, axis=1)) for rows in (mean, variance)))

    def nodes(self, ids: Tensor) -> Tensor:
        """Atoms of molecules that batches ids [..., B] have on the average. [...]"""
        at = self.FIELDS.index("molecule_nodes")
        return self.mean[:, at][ids].sum(-1)

    def most(self, ids: Tensor) -> dict[str, int]:
        """ids [m, B]"""
        found = []
        for part in ids.split(4096):
            need = self.mean[part].sum(1) + DEVIATIONS * self.variance[part].sum(1).sqrt()
            found.append(need.amax(0))
        return dict(zip(self.FIELDS, torch.stack(found).amax(0).ceil().int().tolist(), strict=True))


class _Owned:
    """Things of reactions, one after the other."""

    def __init__(self, ptr: Tensor | None, owner: Any = None, count: int = 0) -> None:
        if ptr is not None:
            self.counts = ptr.diff().numpy()
            self.owner = np.repeat(np.arange(len(self.counts)), self.counts)
        else:
            self.owner, self.counts = owner, np.bincount(owner, minlength=count)

    def sums(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.owner, values, minlength=len(self.counts)).astype(np.int64)

    def tops(self, values: np.ndarray) -> np.ndarray:
        found = np.zeros(len(self.counts), dtype=np.int64)
        np.maximum.at(found, self.owner, values.astype(np.int64))
        return found

    def distinct(self, graphs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """(how many different graphs, their nodes, their edges) of each. [n, 3]"""
        keys = np.unique(self.owner.astype(np.int64) * len(sizes) + graphs)
        owner, graph = np.divmod(keys, len(sizes))
        n = len(self.counts)
        each = [np.bincount(owner, sizes[graph, j], minlength=n) for j in (0, 1)]
        return np.stack([np.bincount(owner, minlength=n), *each], axis=1).astype(np.int64)


def _sizes(graphs: PackedGraphs) -> np.ndarray:
    """Nodes and edges of each graph, and of none. [G+1, 2]"""
    edges = graphs.row_ptr[graphs.node_ptr].diff()
    found = torch.stack([graphs.sizes, edges], dim=1).numpy()
    return np.concatenate([found, np.zeros((1, 2), dtype=found.dtype)])


def _with_ones(sizes: np.ndarray) -> np.ndarray:
    """[G+1, 2] -> [G+1, 3]: each is one graph."""
    return np.concatenate([np.ones((len(sizes), 1), dtype=sizes.dtype), sizes], axis=1)


def _each(sizes: np.ndarray, graphs: np.ndarray) -> np.ndarray:
    return sizes[graphs]


def _spread(ptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(which of the rows, place) of all that the rows list"""
    counts = np.diff(ptr)[rows]
    owner = np.repeat(np.arange(len(rows)), counts)
    begin = np.cumsum(counts) - counts
    return owner, ptr[rows][owner] + np.arange(len(owner)) - begin[owner]


def _table(columns: list[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.stack(columns, axis=1).astype(np.int64))
