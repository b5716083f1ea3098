"""The candidates of each reaction, as flat lists that a device reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.prepared import Prepared


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Of n reactions; a last one has nothing. Slots count from the first of a reaction.

    centers: numbers of centers. templates: numbers of templates, those seen most often first;
    center_slot: the slot of each one's center; makes: whether it has an outcome.
    outcomes: numbers of outcomes, whose molecules are molecules[molecule_ptr[o]:…].
    pairs: which template (slot) makes which outcome (slot).
    truth: the slot of the outcome that is true, or -1.
    positives: the slots of templates that make it; shares: of their weights, summed up to each.
    """

    product: Tensor  # [n+1]: numbers of molecules; of the last one none
    center_ptr: Tensor  # [n+2]
    centers: Tensor
    template_ptr: Tensor
    templates: Tensor
    center_slot: Tensor
    makes: Tensor
    outcome_ptr: Tensor
    outcomes: Tensor
    molecule_ptr: Tensor  # [O+1]
    molecules: Tensor
    pair_ptr: Tensor
    pair_template: Tensor
    pair_outcome: Tensor
    truth: Tensor  # [n+1]
    positive_ptr: Tensor
    positives: Tensor
    shares: Tensor

    def to(self, device: str) -> CandidateLists:
        moved = {f.name: getattr(self, f.name).to(device) for f in fields(self)}
        return replace(self, **moved)

    @property
    def learnable(self) -> Tensor:
        """Whether some template makes what is true. [n]"""
        return self.positive_ptr.diff()[:-1] > 0


@dataclass(frozen=True, eq=False)
class TemplateTable:
    """What templates are made of, as numbers of graphs; the last one is none."""

    center: Tensor  # [T+1]
    fragment_ptr: Tensor  # [T+2]
    fragments: Tensor

    def to(self, device: str) -> TemplateTable:
        return TemplateTable(*(t.to(device) for t in vars(self).values()))


def offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def expanded(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(owner, number within it) of each of the things that owners have so many of"""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - offsets(counts)[owner]


def _listed(ptr: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(owner, place) of the lists of these rows, one after the other"""
    owner, local = expanded((ptr[1:] - ptr[:-1])[rows])
    return owner, ptr[rows][owner] + local


def candidate_lists(prepared: Prepared, *, given: bool) -> CandidateLists:
    """given: whether the class of a reaction is known; then only those templates are candidates
    that were seen with it."""
    a, library = prepared.arrays, prepared.library
    product = a["reactions.product"].astype(np.int64)
    n = len(product)
    allowed = _allowed(library, a["reactions.group"], given=given)

    # Templates of the centers that match.
    of_center = offsets(np.bincount(library.center_of, minlength=len(library.centers)))
    by_center = np.argsort(library.center_of, kind="stable")
    center_ptr = offsets(a["products.center_counts"])
    owner, place = _listed(center_ptr, product)
    matching = a["products.centers"][place].astype(np.int64)
    entry, at = _listed(of_center, matching)
    template, reaction = by_center[at], owner[entry]
    ok = allowed(reaction, template)
    template, reaction, entry = template[ok], reaction[ok], entry[ok]
    # Centers without a template that may be taken are none.
    kept = np.unique(entry)
    slot_of = np.full(len(matching), -1)
    centers_of = np.bincount(owner[kept], minlength=n)
    slot_of[kept] = expanded(centers_of)[1]
    order = np.lexsort((template, reaction))
    template, reaction, entry = template[order], reaction[order], entry[order]
    template_ptr = offsets(np.bincount(reaction, minlength=n))
    T = len(library.templates)
    keys = reaction * T + template

    # What they make.
    run_ptr = offsets(a["products.run_counts"])
    made_ptr = offsets(a["products.made_counts"])
    run_owner, run = _listed(run_ptr, product)
    run_template = a["products.templates"][run].astype(np.int64)
    ok = allowed(run_owner, run_template)
    run_owner, run, run_template = run_owner[ok], run[ok], run_template[ok]
    of_run, made = _listed(made_ptr, run)
    outcome = a["products.made"][made].astype(np.int64)  # within its product
    pair_reaction = run_owner[of_run]
    pair_entry = np.searchsorted(keys, pair_reaction * T + run_template[of_run])
    most = int(a["products.outcome_counts"].max(initial=0)) + 1
    outcome_keys, pair_place = np.unique(pair_reaction * most + outcome, return_inverse=True)
    outcome_reaction, outcome = outcome_keys // most, outcome_keys % most
    outcome_ptr = offsets(np.bincount(outcome_reaction, minlength=n))
    first_outcome = offsets(a["products.outcome_counts"])[:-1]
    makes = np.zeros(len(template), dtype=bool)
    makes[pair_entry] = True

    # What is true.
    wanted = np.arange(n) * most + a["reactions.truth"]
    at_truth = np.minimum(np.searchsorted(outcome_keys, wanted), max(len(outcome_keys) - 1, 0))
    found = (a["reactions.truth"] >= 0) & (len(outcome_keys) > 0)
    found[found] = outcome_keys[at_truth[found]] == wanted[found]
    truth = np.where(found, at_truth - outcome_ptr[:-1], -1)
    right = truth[pair_reaction] == pair_place - outcome_ptr[pair_reaction]
    positive = np.unique(pair_entry[right])
    alike = np.bincount(entry, minlength=len(matching))  # templates that may be taken, by center
    weight = 1.0 / alike[entry[positive]]
    of_positive = reaction[positive]
    total = np.bincount(of_positive, weight, minlength=n)
    running = np.cumsum(weight)
    before = np.concatenate([[0.0], running])[offsets(np.bincount(of_positive, minlength=n))[:-1]]
    shares = (running - before[of_positive]) / total[of_positive]

    def ptr(counts: np.ndarray) -> Tensor:
        """With one more, which has none."""
        return torch.from_numpy(offsets(np.append(counts, 0)))

    def ints(values: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(torch.int32)

    graphs = len(a["molecules.sizes"])
    return CandidateLists(
        product=ints(np.append(a["products.molecule"][product], graphs)),
        center_ptr=ptr(centers_of),
        centers=ints(matching[kept]),
        template_ptr=ptr(np.diff(template_ptr)),
        templates=ints(template),
        center_slot=ints(slot_of[entry]),
        makes=torch.from_numpy(makes),
        outcome_ptr=ptr(np.diff(outcome_ptr)),
        outcomes=ints(first_outcome[product[outcome_reaction]] + outcome),
        molecule_ptr=torch.from_numpy(offsets(a["products.molecule_counts"])),
        molecules=ints(a["products.outcomes"]),
        pair_ptr=ptr(np.bincount(pair_reaction, minlength=n)),
        pair_template=ints(pair_entry - template_ptr[pair_reaction]),
        pair_outcome=ints(pair_place - outcome_ptr[pair_reaction]),
        truth=ints(np.append(truth, -1)),
        positive_ptr=ptr(np.bincount(of_positive, minlength=n)),
        positives=ints(positive - template_ptr[of_positive]),
        shares=torch.from_numpy(shares).to(torch.float32),
    )


def _allowed(
    library: TemplateLibrary, group: np.ndarray, *, given: bool
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Whether a reaction may take a template."""
    number = {name: at for at, name in enumerate(library.groups)}
    seen = np.zeros((len(number) + 1, len(library.templates)), dtype=bool)  # the last: no class
    for template, counts in enumerate(library.counts):
        seen[[number[name] for name in counts], template] = True

    def allowed(reaction: np.ndarray, template: np.ndarray) -> np.ndarray:
        if not given:
            return np.ones(len(template), dtype=bool)
        return seen[group[reaction], template]

    return allowed
