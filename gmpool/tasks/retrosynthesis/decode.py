"""From scores to an order of outcomes: centers, then templates, then what they make.

The best CENTERS centers by v₁; of their templates the best TEMPLATES that make something, by
v₁ + v₂; all that these make, by v₁ + v₂ + v₃. Scores that differ by rounding alone count as equal:
then the template that was seen more often in training comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.ops.row_ids import row_ids
from gmpool.tasks.retrosynthesis.batch import ReactionBatch

CENTERS = TEMPLATES = 50
FINE = 1e4
"""Scores are compared to so many parts of 1."""
_NEVER = -torch.inf


class Scores(NamedTuple):
    """v₁, v₂ and v₃ of each entry; losses: of the poolings."""

    matching: Tensor  # [n]
    choices: Tensor
    outcomes: Tensor
    losses: dict[str, Tensor]


class Ranked(NamedTuple):
    """totals: of each pair of a template and an outcome, −∞ for those that are not reached.
    places: of each pair among those of its reaction, from 0. published, merged: the rank of the
    truth, 0 where it is not found."""

    totals: Tensor  # [P]
    places: Tensor  # [P]
    published: Tensor  # [B]
    merged: Tensor  # [B]


def ranks(scores: Scores, batch: ReactionBatch) -> Ranked:
    """Of a batch with all candidates."""
    B = batch.real.shape[0]
    matching, choices = batch.matching, batch.choices
    place = placed(scores.matching, matching.rows, matching.rowptr)
    kept = place < CENTERS
    reached = kept[batch.choice_match] & batch.makes
    both = scores.choices + scores.matching[batch.choice_match]
    order = placed(torch.where(reached, both, _NEVER), choices.rows, choices.rowptr)
    reached = reached & (order < TEMPLATES)
    owner = row_ids(batch.pair_rows, batch.pair_choice.shape[0])
    there = (owner < B) & reached[batch.pair_choice]
    total = both[batch.pair_choice] + scores.outcomes[batch.pair_outcome]
    totals = torch.where(there, total, _NEVER)
    places = placed(totals, owner, batch.pair_rows)
    far = places.shape[0] + 1  # later than any
    reached_at = torch.where(there, places, far)
    # The first place at which each outcome is reached.
    count = scores.outcomes.shape[0]
    never = torch.full_like(batch.pair_outcome[:1], far).expand(count)
    first = never.scatter_reduce(0, batch.pair_outcome, reached_at, "amin", include_self=True)
    truth = batch.truth
    known = (truth >= 0) & (batch.real > 0)
    at = torch.where(known, first[truth.clamp(min=0)], far)  # [B]
    found = at < far
    # Distinct outcomes that come before it.
    of_reaction = row_ids(batch.outcome_rows, count)
    later = torch.cat([at, torch.zeros_like(at[:1])])[of_reaction]
    before = (first < later).long()
    earlier = torch.zeros_like(truth[:1]).expand(B + 1).scatter_add(0, of_reaction, before)[:B]
    return Ranked(totals, places, torch.where(found, at + 1, 0), torch.where(found, earlier + 1, 0))


def placed(scores: Tensor, owner: Tensor, ptr: Tensor) -> Tensor:
    """The place of each entry among those of its owner, the largest score first, from 0; equal ones
    as they come. ptr: where each owner's begin."""
    coarse = (scores * FINE).round()
    by_score = torch.sort(-coarse, stable=True).indices
    by_owner = torch.sort(owner[by_score], stable=True).indices
    order = by_score[by_owner]
    place = torch.arange(order.shape[0], device=order.device) - ptr[owner[order]]
    return torch.zeros_like(order).scatter(0, order, place)
