"""Which candidates are learned from: the right one, and some of the wrong ones, drawn anew in every
batch. What is drawn is a function of which reactions a batch has, in which order."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gmpool.nn.clock import STEP, uniform
from gmpool.tasks.retrosynthesis.lists import CandidateLists

NEGATIVES = 64
"""Wrong centers, wrong outcomes, wrong templates of the right center and of the wrong ones: so many
of each at most, as published."""
_ROOM = 2**20
"""Numbers that one reaction may need of one kind."""
_KINDS = 8


class Drawn(NamedTuple):
    """Slots of a reaction's candidates, what is right first, and how many there are of them."""

    centers: Tensor  # [R, B, 1 + NEGATIVES]
    center_counts: Tensor  # [R, B]
    templates: Tensor  # [R, B, 1 + 2 · NEGATIVES]
    template_counts: Tensor
    outcomes: Tensor  # [R, B, 1 + NEGATIVES]
    outcome_counts: Tensor


class Widest(NamedTuple):
    """The most candidates that a reaction has; NEGATIVES at least."""

    centers: int
    templates: int
    outcomes: int
    positives: int


def draw(lists: CandidateLists, ids: Tensor, widest: Widest) -> Drawn:
    """ids [R, B]: of reactions that can be learned from, or the number of none"""
    noise = _Noise(ids)
    positive = _positive(lists, ids, widest.positives, noise(0, 1)[..., 0])  # [R, B] slots

    slots, there = _slots(lists.center_ptr, ids, widest.centers)
    at_template = lists.template_ptr[ids] + positive
    last = lists.center_slot.shape[0] - 1
    right = lists.center_slot[at_template.clamp(max=last)].long()
    wrong = there & (slots != right[..., None])
    centers, count = _some(wrong, noise(1, widest.centers))
    some = ids < lists.product.shape[0] - 1
    chosen = torch.zeros_like(wrong).scatter(2, centers, _first(count, centers))

    tslots, there = _slots(lists.template_ptr, ids, widest.templates)
    at = (lists.template_ptr[ids][..., None] + tslots).clamp(max=last)
    center = lists.center_slot[at].long()
    other = there & (tslots != positive[..., None])
    same = other & (center == right[..., None])
    far = other & chosen.gather(2, center)
    near, near_count = _some(same, noise(2, widest.templates))
    away, away_count = _some(far, noise(3, widest.templates))
    # Those of the right center first, then the others without a gap.
    both = torch.cat([near, away], dim=2)
    kept = torch.cat([_first(near_count, near), _first(away_count, away)], dim=2)
    order = kept.int().argsort(dim=2, descending=True, stable=True)
    templates = both.gather(2, order)

    oslots, there = _slots(lists.outcome_ptr, ids, widest.outcomes)
    truth = lists.truth[ids].long()
    outcomes, outcome_count = _some(there & (oslots != truth[..., None]), noise(4, widest.outcomes))
    return Drawn(
        torch.cat([right[..., None], centers], dim=2),
        (1 + count) * some,
        torch.cat([positive[..., None], templates], dim=2),
        (1 + near_count + away_count) * some,
        torch.cat([truth[..., None].clamp(min=0), outcomes], dim=2),
        (1 + outcome_count) * some,
    )


class _Noise:
    """Numbers in [0, 1), other ones for each batch, place in it and kind."""

    def __init__(self, ids: Tensor) -> None:
        place = torch.arange(ids.shape[1], device=ids.device)
        mixed = (ids + 1) * STEP + (place + 1) * 0x2545F4914F6CDD1D
        mixed = (mixed ^ (mixed >> 29)) * STEP
        self.key = mixed.sum(1)[:, None, None]  # [R, 1, 1]
        self.first = (place * _KINDS)[None, :, None]

    def __call__(self, kind: int, width: int) -> Tensor:
        """[R, B, width]"""
        slot = torch.arange(width, device=self.key.device)
        return uniform(self.key, (self.first + kind) * _ROOM + slot)


def _slots(ptr: Tensor, ids: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """(0 … width-1, which of them are there), of each reaction. [R, B, width]"""
    counts = ptr[ids + 1] - ptr[ids]
    slots = torch.arange(width, device=ids.device).expand(*ids.shape, width)
    return slots, slots < counts[..., None]


def _some(mask: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """(at most NEGATIVES of the slots of a mask, first, [R, B, NEGATIVES]; how many [R, B])"""
    keys = torch.where(mask, noise, -1.0)
    # Stable: equal keys would be drawn in whatever order a device likes.
    slots = keys.sort(dim=2, descending=True, stable=True).indices[..., :NEGATIVES]
    return slots, mask.sum(2).clamp(max=NEGATIVES)


def _first(count: Tensor, slots: Tensor) -> Tensor:
    """Which of the slots [R, B, k] are among the first so many."""
    return torch.arange(slots.shape[2], device=slots.device) < count[..., None]


def _positive(lists: CandidateLists, ids: Tensor, width: int, noise: Tensor) -> Tensor:
    """The slot of a template that makes what is true, by its share. [R, B]"""
    first, end = lists.positive_ptr[ids], lists.positive_ptr[ids + 1]
    at = first[..., None] + torch.arange(width, device=ids.device)
    last = max(lists.shares.shape[0] - 1, 0)
    below = (lists.shares[at.clamp(max=last)] <= noise[..., None]) & (at < end[..., None])
    chosen = torch.minimum(first + below.sum(2), (end - 1).clamp(min=0))
    return torch.where(end > first, lists.positives[chosen].long(), 0)
