"""A prepared set of reactions as a dataset: candidates as lists, graphs as tables, and batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gmpool.data import Split
from gmpool.data.packed import PackedGraphs
from gmpool.tasks.retrosynthesis.batch import Bounds, ReactionBatch
from gmpool.tasks.retrosynthesis.drawn import NEGATIVES, Widest
from gmpool.tasks.retrosynthesis.features import elements_of, feature_rows
from gmpool.tasks.retrosynthesis.graph_table import batches_of, graph_table
from gmpool.tasks.retrosynthesis.lists import CandidateLists, TemplateTable, candidate_lists
from gmpool.tasks.retrosynthesis.maker import BatchMaker
from gmpool.tasks.retrosynthesis.needs import Needs
from gmpool.tasks.retrosynthesis.prepared import Prepared

SIZES = (0.5, 0.85)
"""Shares of the batches that have no more atoms than those of a kind."""


@dataclass(frozen=True, eq=False)
class Reactions:
    """n reactions with their candidates.

    features: of the kinds of atoms, [K, F]. center_graph: of each center the number of its graph:
    centers that look alike share one.
    """

    name: str
    digest: str
    prepared: Prepared
    given: bool
    queries: bool
    lists: CandidateLists
    centers: PackedGraphs
    fragments: PackedGraphs
    molecules: PackedGraphs
    center_graph: Tensor
    templates: TemplateTable
    features: Tensor

    @classmethod
    def of(cls, prepared: Prepared, *, given: bool = False, queries: bool = False) -> Reactions:
        """given: whether classes are known. queries: whether atoms of patterns show what they ask
        of hydrogens, degree and charge, which the published features do not."""
        a, library = prepared.arrays, prepared.library
        rows = feature_rows(a["atoms"], elements_of(a["atoms"]), queries=queries)
        features, kind = np.unique(rows, axis=0, return_inverse=True)
        tables = {
            name: _graphs(prepared, name, kind) for name in ("centers", "fragments", "molecules")
        }
        centers, center_graph = _each_once(tables["centers"])
        fragments, fragment_graph = _each_once(tables["fragments"])
        counts = np.array([len(each) for each in library.fragments_of] + [0])
        flat = np.array([f for each in library.fragments_of for f in each], dtype=np.int64)
        templates = TemplateTable(
            torch.cat(
                [center_graph[torch.tensor(library.center_of)], torch.tensor([len(centers)])]
            ),
            torch.from_numpy(np.concatenate([[0], np.cumsum(counts)])),
            fragment_graph[torch.from_numpy(flat)],
        )
        words = f"{prepared.digest} given={given} queries={queries}"
        return cls(
            prepared.name + ("-given" if given else ""),
            hashlib.sha256(words.encode()).hexdigest(),
            prepared,
            given,
            queries,
            candidate_lists(prepared, given=given),
            centers,
            fragments,
            tables["molecules"],
            center_graph,
            templates,
            torch.from_numpy(features),
        )

    def __len__(self) -> int:
        return len(self.prepared.arrays["reactions.product"])

    @property
    def empty(self) -> int:
        """The number of no reaction."""
        return len(self)

    @cached_property
    def split(self) -> Split:
        """Reactions that no template makes cannot be learned from."""
        part = torch.from_numpy(self.prepared.arrays["reactions.part"].astype(np.int64))
        learnable = self.lists.learnable.cpu()
        train, valid, test = (
            ((part == k) & (learnable | (part != 0))).nonzero()[:, 0] for k in range(3)
        )
        return Split(train, valid, test)

    def to(self, device: str) -> Reactions:
        moved: dict[str, Any] = {
            name: getattr(self, name).to(device)
            for name in ("lists", "centers", "fragments", "molecules", "center_graph", "templates",
                         "features")
        }  # fmt: skip
        made = replace(self, **moved)
        made.__dict__["needs"], made.__dict__["split"] = self.needs, self.split
        made.__dict__["widest"] = self.widest
        return made

    # -- batches --------------------------------------------------------------------------------

    @cached_property
    def needs(self) -> Needs:
        """How much each reaction needs, on the host."""
        return Needs.of(self.lists, self.templates, self.center_graph, self.centers,
                        self.fragments, self.molecules)  # fmt: skip

    @cached_property
    def widest(self) -> Widest:
        lists = self.lists

        def most(ptr: Tensor, least: int) -> int:
            return max(int(ptr.diff().max()), least)

        return Widest(
            most(lists.center_ptr, NEGATIVES),
            most(lists.template_ptr, NEGATIVES),
            most(lists.outcome_ptr, NEGATIVES),
            most(lists.positive_ptr, 1),
        )

    def batches(
        self, ids: Tensor, batch_size: int, generator: torch.Generator | None = None
    ) -> Iterator[ReactionBatch]:
        if generator is not None:
            ids = ids[torch.randperm(len(ids), generator=generator)]
        for part in ids.split(batch_size):
            yield self.make(part[None].to(self.features.device), self.bounds(part)).alone()

    def bounds(self, ids: Tensor) -> Bounds:
        """What the batches ids [..., B] need. Reactions of the training part are learned from;
        of others all candidates are there."""
        part = self.prepared.arrays["reactions.part"]
        real = ids[ids != self.empty].cpu()
        whole = bool(part[real.numpy()].any())
        return self.needs.bounds(ids.cpu(), whole=whole)

    def kinds(self, ids: Tensor) -> Tensor:
        """How large the batches of each step are, of ids [R, T, B] that are learned from: half of
        them are small, some large. [T]"""
        nodes = self.needs.chance.nodes(ids.cpu()).amax(0)  # [T]
        ends = torch.quantile(nodes, torch.tensor(SIZES, dtype=nodes.dtype))
        found = torch.searchsorted(ends, nodes)  # as large as an end: no larger kind
        return torch.unique(found, return_inverse=True)[1]

    def make(self, ids: Tensor, bounds: Bounds) -> ReactionBatch:
        """ids [R, B] -> R batches"""
        return self._maker.make(ids, bounds)

    @cached_property
    def _maker(self) -> BatchMaker:
        tables = map(batches_of, (self.centers, self.fragments, self.molecules))
        return BatchMaker(
            self.lists, self.templates, self.center_graph, self.features, self.widest, *tables
        )


def _graphs(prepared: Prepared, name: str, kind: np.ndarray) -> PackedGraphs:
    """One of the tables, its atoms by their kinds."""
    parts = ("sizes", "atoms", "degrees", "neighbours")
    arrays = (prepared.arrays[f"{name}.{part}"] for part in parts)
    return graph_table(f"{prepared.name}: {name}", kind, *arrays)


def _each_once(graphs: PackedGraphs) -> tuple[PackedGraphs, Tensor]:
    """Graphs that are alike to the last number once, and which of them each was."""
    assert graphs.node_cat is not None
    kinds, degrees = graphs.node_cat[:, 0].numpy(), graphs.row_ptr.diff().numpy()
    col, nodes, rows = graphs.col.numpy(), graphs.node_ptr.tolist(), graphs.row_ptr
    first: dict[bytes, int] = {}
    which, kept = [], []
    for graph, (begin, end) in enumerate(pairwise(nodes)):
        near = col[int(rows[begin]) : int(rows[end])]
        key = b"|".join(part.tobytes() for part in (kinds[begin:end], degrees[begin:end], near))
        if key not in first:
            first[key] = len(first)
            kept.append(graph)
        which.append(first[key])
    return graphs.select(torch.tensor(kept)), torch.tensor(which)
