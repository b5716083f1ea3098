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
from gmpool.data.fixed_batch import Bounds as GraphBounds
from gmpool.data.fixed_batch import FixedBatch, FixedBatches
from gmpool.data.packed import PackedGraphs
from gmpool.tasks.retrosynthesis import assemble
from gmpool.tasks.retrosynthesis.batch import Bounds, ReactionBatch
from gmpool.tasks.retrosynthesis.drawn import NEGATIVES, Widest, draw
from gmpool.tasks.retrosynthesis.features import elements_of, feature_rows
from gmpool.tasks.retrosynthesis.lists import CandidateLists, candidate_lists
from gmpool.tasks.retrosynthesis.needs import Needs
from gmpool.tasks.retrosynthesis.prepared import Prepared


@dataclass(frozen=True, eq=False)
class TemplateTable:
    """What templates are made of, as numbers of graphs; the last one is none."""

    center: Tensor  # [T+1]
    fragment_ptr: Tensor  # [T+2]
    fragments: Tensor

    def to(self, device: str) -> TemplateTable:
        return TemplateTable(*(t.to(device) for t in vars(self).values()))


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
            prepared.name + (", class given" if given else ""),
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
    def _tables(self) -> tuple[FixedBatches, ...]:
        tables = (self.molecules, self.centers, self.fragments)
        return tuple(FixedBatches(t, plain=True, normalised=False, numbers=True) for t in tables)

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

    def make(self, ids: Tensor, bounds: Bounds) -> ReactionBatch:
        """ids [R, B] -> R batches"""
        lists, whole = self.lists, bounds.whole > 0
        R = ids.shape[0]
        drawn = None if whole else draw(lists, ids, self.widest)

        def entries(ptr: Tensor, slots: Tensor | None, counts: Tensor | None, bound: int) -> Any:
            """(the ragged entries, the place of each in the flat list of ptr)"""
            first = ptr[ids]
            rows = assemble.ragged(ptr[ids + 1] - first if counts is None else counts, bound)
            slot = rows.local
            if slots is not None:
                k = slots.shape[2]
                at = (rows.owner * k + slot).clamp(max=slots[0].numel() - 1)
                slot = slots.flatten(1).gather(1, at)
            return rows, assemble.of_owner(first, rows.owner) + slot

        matching, at = entries(
            lists.center_ptr, *((drawn.centers, drawn.center_counts) if drawn else (None, None)),
            bounds.center_entries,
        )  # fmt: skip
        none = self.centers.num_graphs
        graph = self.center_graph[_taken(lists.centers, at, matching)]
        graph = torch.where(matching.there, graph, none)
        center_ids, col = assemble.distinct(graph, none, bounds.center_graphs)
        match = assemble.pattern(matching, col, center_ids.shape[1] + 1)

        choices, at = entries(
            lists.template_ptr,
            *((drawn.templates, drawn.template_counts) if drawn else (None, None)),
            bounds.template_entries,
        )
        template_at = at
        no_template = self.templates.center.shape[0] - 1
        template = _taken(lists.templates, at, choices)
        template = torch.where(choices.there, template, no_template)
        template_ids, col = assemble.distinct(template, no_template, bounds.templates)
        choose = assemble.pattern(choices, col, template_ids.shape[1])
        template_center = torch.searchsorted(center_ids, self.templates.center[template_ids])

        first = self.templates.fragment_ptr[template_ids]
        contents = assemble.ragged(
            self.templates.fragment_ptr[(template_ids + 1).clamp(max=no_template + 1)] - first,
            bounds.fragment_entries,
        )
        at = assemble.of_owner(first, contents.owner) + contents.local
        fragment = _taken(self.templates.fragments, at, contents)
        fragment = torch.where(contents.there, fragment, self.fragments.num_graphs)
        fragment_ids, col = assemble.distinct(
            fragment, self.fragments.num_graphs, bounds.fragment_graphs
        )
        content = assemble.pattern(contents, col, fragment_ids.shape[1] + 1)

        outcomes, at = entries(
            lists.outcome_ptr,
            *((drawn.outcomes, drawn.outcome_counts) if drawn else (None, None)),
            bounds.outcomes,
        )
        outcome = _taken(lists.outcomes, at, outcomes)
        begin = lists.molecule_ptr[outcome]
        count = torch.where(outcomes.there, lists.molecule_ptr[outcome + 1] - begin, 0)
        parts = assemble.ragged(count, bounds.molecule_entries)
        at = assemble.of_owner(begin, parts.owner) + parts.local
        molecule = _taken(lists.molecules, at, parts)
        molecule = torch.where(parts.there, molecule, self.molecules.num_graphs)
        molecule_ids, col = assemble.distinct(
            molecule, self.molecules.num_graphs, bounds.molecule_graphs
        )
        B = ids.shape[1]
        of_reaction = assemble.Ragged(
            assemble.of_owner(outcomes.owner, parts.owner, B),
            parts.local,
            parts.ptr.gather(1, torch.cat([outcomes.ptr[:, :-1], outcomes.ptr[:, -1:] + 1], 1)),
        )
        reactants = assemble.pattern(of_reaction, col, molecule_ids.shape[1] + 1)

        pairs, pair_at = entries(lists.pair_ptr, None, None, bounds.pairs if whole else 0)
        pair_choice = _taken(lists.pair_template, pair_at, pairs)
        pair_outcome = _taken(lists.pair_outcome, pair_at, pairs)
        choice_match = _taken(lists.center_slot, template_at, choices)
        truth = lists.truth[ids].long()
        begin = outcomes.ptr[:, :B]
        graphs = self._graphs(ids, center_ids, fragment_ids, molecule_ids, bounds)
        return ReactionBatch(
            self.features.expand(R, -1, -1),
            (ids != self.empty).float(),
            *graphs,
            match,
            choose,
            content,
            reactants,
            template_center,
            parts.ptr,
            outcomes.ptr,
            choice_match + assemble.of_owner(matching.ptr[:, :B], choices.owner),
            _taken(lists.makes, template_at, choices).bool() & choices.there,
            pair_choice + assemble.of_owner(choices.ptr[:, :B], pairs.owner),
            pair_outcome + assemble.of_owner(begin, pairs.owner),
            pairs.ptr,
            torch.where(truth >= 0, begin + truth, -1),
        )

    def _graphs(
        self, ids: Tensor, centers: Tensor, fragments: Tensor, molecules: Tensor, b: Bounds
    ) -> tuple[FixedBatch, FixedBatch, FixedBatch, FixedBatch]:
        """Of products, centers, fragments and molecules."""
        by_molecule, by_center, by_fragment = self._tables
        products = self.lists.product[ids].long()
        return (
            by_molecule.make(products, GraphBounds(b.product_nodes, b.product_edges, 0)),
            by_center.make(centers, GraphBounds(b.center_nodes, b.center_edges, 0)),
            by_fragment.make(fragments, GraphBounds(b.fragment_nodes, b.fragment_edges, 0)),
            by_molecule.make(molecules, GraphBounds(b.molecule_nodes, b.molecule_edges, 0)),
        )


def _taken(values: Tensor, at: Tensor, rows: assemble.Ragged) -> Tensor:
    """values [n] at these places; 0 for entries that are made up. int64"""
    if not values.shape[0]:
        return torch.zeros_like(at)
    return torch.where(rows.there, values[at.clamp(max=values.shape[0] - 1)].long(), 0)


def _graphs(prepared: Prepared, name: str, kind: np.ndarray) -> PackedGraphs:
    """One of the tables, its atoms by their kinds."""
    a = prepared.arrays
    small = np.uint8 if len(kind) < 2**8 else np.int16

    def ptr(counts: np.ndarray) -> Tensor:
        found = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=found[1:])
        return torch.from_numpy(found)

    return PackedGraphs(
        name=f"{prepared.name}: {name}",
        node_ptr=ptr(a[f"{name}.sizes"]),
        row_ptr=ptr(a[f"{name}.degrees"]),
        col=torch.from_numpy(a[f"{name}.neighbours"].copy()),
        node_cat=torch.from_numpy(kind.astype(small)[a[f"{name}.atoms"]][:, None]),
        cat_sizes=(len(kind),),
    )


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
