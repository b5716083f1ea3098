"""Makes batches of reactions of fixed shape, on the device that holds the lists and the graphs.

Four times the same: the entries of reactions in a list (all of them, or those that are drawn), the
distinct things among them, and the matrix of who has which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.data.fixed_batch import Bounds as GraphBounds
from gmpool.data.fixed_batch import FixedBatches
from gmpool.ops.sparse import Pattern
from gmpool.tasks.retrosynthesis.assemble import (
    Distinct,
    Ragged,
    distinct,
    of_owner,
    pattern,
    ragged,
)
from gmpool.tasks.retrosynthesis.batch import Bounds, ReactionBatch
from gmpool.tasks.retrosynthesis.drawn import Widest, draw
from gmpool.tasks.retrosynthesis.lists import CandidateLists, TemplateTable


class _Entries(NamedTuple):
    """rows: of reactions. at: the place of each in its flat list."""

    rows: Ragged
    at: Tensor

    def taken(self, values: Tensor, none: int = 0) -> Tensor:
        """values [n] at these places; `none` for entries that are made up. int64 [R, n]"""
        if not values.shape[0]:
            return torch.full_like(self.at, none)
        found = values[self.at.clamp(max=values.shape[0] - 1)].long()
        return torch.where(self.rows.there, found, none)


@dataclass(frozen=True)
class BatchMaker:
    """centers, fragments, molecules: make batches of graphs of these tables."""

    lists: CandidateLists
    templates: TemplateTable
    center_graph: Tensor
    features: Tensor
    widest: Widest
    centers: FixedBatches
    fragments: FixedBatches
    molecules: FixedBatches

    def make(self, ids: Tensor, bounds: Bounds) -> ReactionBatch:
        """ids [R, B] -> R batches"""
        lists, B, whole = self.lists, ids.shape[1], bounds.whole > 0
        drawn = None if whole else draw(lists, ids, self.widest)
        matching = _entries(lists.center_ptr, ids, bounds.center_entries,
                            drawn and (drawn.centers, drawn.center_counts))  # fmt: skip
        choices = _entries(lists.template_ptr, ids, bounds.template_entries,
                           drawn and (drawn.templates, drawn.template_counts))  # fmt: skip
        outcomes = _entries(lists.outcome_ptr, ids, bounds.outcomes,
                            drawn and (drawn.outcomes, drawn.outcome_counts))  # fmt: skip
        pairs = _entries(lists.pair_ptr, ids, bounds.pairs if whole else 0, None)

        center, match = self._matching(matching, bounds)
        template, choose = self._choices(choices, bounds)
        fragment, content, contents = self._contents(template.listed, bounds)
        molecule, reactants, parts = self._reactants(outcomes, bounds, B)

        fits = [each.fits for each in (matching.rows, choices.rows, outcomes.rows, content, parts)]
        fits += [each.fits for each in (center, template, fragment, molecule)]
        graphs = {}
        for name, table, numbers in (
            ("product", self.molecules, lists.product[ids].long()),
            ("center", self.centers, center.listed),
            ("fragment", self.fragments, fragment.listed),
            ("molecule", self.molecules, molecule.listed),
        ):
            room = getattr(bounds, f"{name}_nodes"), getattr(bounds, f"{name}_edges")
            fits.append(table.fit(numbers, GraphBounds(*room, 0)))
            there = torch.where(fits[-1][:, None], numbers, table.empty)  # or nothing lies beyond
            graphs[f"{name}s"] = table.make(there, GraphBounds(*room, 0))
        all_fit = torch.stack(fits).all(0)[:, None, None]
        truth, first = lists.truth[ids].long(), outcomes.rows.ptr[:, :B]
        return ReactionBatch(
            # A batch that does not fit, which does not happen, is not learned from in part.
            features=torch.where(all_fit, self.features, torch.nan),
            real=(ids < lists.product.shape[0] - 1).float(),
            **graphs,
            matching=match,
            choices=choose,
            contents=contents,
            reactants=reactants,
            template_center=torch.searchsorted(
                center.listed, self.templates.center[template.listed]
            ),
            outcome_ptr=parts.ptr,
            outcome_rows=outcomes.rows.ptr,
            choice_match=choices.taken(lists.center_slot) + _first_of(matching, choices, B),
            makes=choices.taken(lists.makes).bool(),
            pair_choice=pairs.taken(lists.pair_template) + _first_of(choices, pairs, B),
            pair_outcome=pairs.taken(lists.pair_outcome) + _first_of(outcomes, pairs, B),
            pair_rows=pairs.rows.ptr,
            truth=torch.where(truth >= 0, first + truth, -1),
        )

    def _matching(self, entries: _Entries, bounds: Bounds) -> tuple[Distinct, Pattern]:
        """(the distinct graphs of centers, reactions × centers)"""
        none = self.centers.empty
        graph = self.center_graph[entries.taken(self.lists.centers)]
        graph = torch.where(entries.rows.there, graph, none)
        found = distinct(graph, none, bounds.center_graphs)
        return found, pattern(entries.rows, found.place, found.listed.shape[1] + 1)

    def _choices(self, entries: _Entries, bounds: Bounds) -> tuple[Distinct, Pattern]:
        """(the distinct templates, reactions × templates)"""
        none = self.templates.center.shape[0] - 1
        found = distinct(entries.taken(self.lists.templates, none), none, bounds.templates)
        return found, pattern(entries.rows, found.place, found.listed.shape[1])

    def _contents(self, template_ids: Tensor, bounds: Bounds) -> tuple[Distinct, Ragged, Pattern]:
        """(the distinct graphs of fragments, those of each template, templates × fragments)"""
        ptr, none = self.templates.fragment_ptr, self.fragments.empty
        first = ptr[template_ids]
        last = ptr.shape[0] - 1
        rows = ragged(ptr[(template_ids + 1).clamp(max=last)] - first, bounds.fragment_entries)
        entries = _Entries(rows, of_owner(first, rows.owner) + rows.local)
        fragment = entries.taken(self.templates.fragments, none)
        found = distinct(fragment, none, bounds.fragment_graphs)
        return found, rows, pattern(rows, found.place, found.listed.shape[1] + 1)

    def _reactants(
        self, outcomes: _Entries, bounds: Bounds, B: int
    ) -> tuple[Distinct, Pattern, Ragged]:
        """(the distinct molecules, reactions × molecules, the molecules of each outcome)"""
        lists, none = self.lists, self.molecules.empty
        outcome = outcomes.taken(lists.outcomes)
        first = lists.molecule_ptr[outcome]
        count = torch.where(outcomes.rows.there, lists.molecule_ptr[outcome + 1] - first, 0)
        parts = ragged(count, bounds.molecule_entries)
        entries = _Entries(parts, of_owner(first, parts.owner) + parts.local)
        found = distinct(entries.taken(lists.molecules, none), none, bounds.molecule_graphs)
        begin = torch.cat([outcomes.rows.ptr[:, :-1], outcomes.rows.ptr[:, -1:] + 1], dim=1)
        of_reaction = Ragged(
            of_owner(outcomes.rows.owner, parts.owner, B),
            parts.local,
            parts.ptr.gather(1, begin),
            parts.fits,
        )
        return found, pattern(of_reaction, found.place, found.listed.shape[1] + 1), parts


def _entries(ptr: Tensor, ids: Tensor, bound: int, drawn: tuple[Tensor, Tensor] | None) -> _Entries:
    """Those of reactions ids [R, B] in a flat list. drawn: slots [R, B, k] of some of them, and how
    many these are; None: all."""
    first = ptr[ids]
    if drawn is None:
        rows = ragged(ptr[ids + 1] - first, bound)
        slot = rows.local
    else:
        slots, counts = drawn
        rows = ragged(counts, bound)
        last = slots[0].numel() - 1
        slot = slots.flatten(1).gather(
            1, (rows.owner * slots.shape[2] + rows.local).clamp(max=last)
        )
    return _Entries(rows, of_owner(first, rows.owner) + slot)


def _first_of(things: _Entries, of: _Entries, B: int) -> Tensor:
    """The first entry among `things` of the reaction of each entry."""
    return of_owner(things.rows.ptr[:, :B], of.rows.owner)
