"""Sets of reactions whose candidates are made up: as many as a test wants, and known to it.

No template was run: what matches and what is made of it is drawn at random. All else is as in a set
that was prepared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gmpool.data import Split
from gmpool.tasks.retrosynthesis.candidates import Candidates
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.pack import pack
from gmpool.tasks.retrosynthesis.prepared import Prepared
from gmpool.tasks.retrosynthesis.reactions import Reaction, ReactionTable

CENTERS = [
    f"[{one};H{h};D{d}:1]{bond}[{other}:2]"
    for d in (1, 2, 3)
    for h in (0, 1, 2)
    for one in ("C", "N", "O", "S")
    for bond in "-="
    for other in ("C", "N", "c", "C:3]-[O")
]
"""Many of them differ only in what the published features do not see."""
FRAGMENTS = [
    f"[{one}:1]-{other}"
    for one in ("C", "N", "O", "c")
    for other in ("Cl", "Br", "[O:2]", "[N:2]", "B(-O)-O", "[C:2](=[O:3])-[O:4]", "c1:c:c:c:c:c1")
]
ENDS = ("O", "N", "Cl", "C=O", "c1ccccc1", "C(C)=O", "C#N", "C1CC1", "S", "c1ccncc1", "[O-]", "[H]")
MOLECULES = [f"{'C' * n}{end}" for n in range(1, 21) for end in ENDS]
PRODUCTS = [f"N(C){'C' * n}{end}" for n in range(1, 8) for end in ENDS]
GROUPS, UNSEEN = ("1", "2", "10"), "7"


@dataclass(frozen=True)
class MadeUp:
    """candidates: of each product."""

    table: ReactionTable
    library: TemplateLibrary
    products: Sequence[str]
    candidates: Sequence[Candidates]
    prepared: Prepared

    def dataset(self, *, given: bool = False, queries: bool = False) -> Reactions:
        return Reactions.of(self.prepared, given=given, queries=queries)

    def candidates_of(self, reaction: int) -> Candidates:
        return self.candidates[self.products.index(self.table.reactions[reaction].product)]


def made_up(
    seed: int = 0,
    *,
    reactions: int = 14,
    products: int = 8,
    centers: int = 12,
    templates: int = 30,
    molecules: int = 40,
    matching: int = 6,
    outcomes: int = 20,
    reachable: float = 0.85,
) -> MadeUp:
    """matching, outcomes: that a product has at most. reachable: how often what is true is made."""
    rng = np.random.default_rng(seed)
    library = TemplateLibrary.of(_seen(rng, centers, templates))
    pool = [MOLECULES[at] for at in rng.choice(len(MOLECULES), molecules, replace=False)]
    named = [PRODUCTS[at] for at in rng.choice(len(PRODUCTS), products, replace=False)]
    found = [_candidates(rng, library, pool, matching, outcomes) for _ in named]
    made = []
    for line in range(reactions):
        at = line if line < products else int(rng.integers(products))
        true = ("CCCCCCCCCC", "F")
        if found[at].outcomes and rng.random() < reachable:
            true = found[at].outcomes[rng.integers(len(found[at].outcomes))]
        group = str(rng.choice([*GROUPS, *GROUPS, UNSEEN]))
        made.append(Reaction(line + 2, named[at], true, group, library.templates[0]))
    parts = torch.arange(reactions) % 7
    train, valid, test = (parts < 4), (parts >= 4) & (parts < 6), parts == 6
    split = Split(*(part.nonzero()[:, 0] for part in (train, valid, test)))
    table = ReactionTable("made up", made, split, ())
    return MadeUp(table, library, named, found, pack(table, library, named, found))


def _seen(rng: np.random.Generator, centers: int, templates: int) -> list[tuple[str, str]]:
    """(class, template) of reactions: of each center one at least."""
    texts = [CENTERS[at] for at in rng.choice(len(CENTERS), centers, replace=False)]
    made: dict[str, None] = {}
    while len(made) < templates:
        center = texts[len(made)] if len(made) < centers else texts[rng.integers(centers)]
        made[f"{center}>>{'.'.join(rng.choice(FRAGMENTS, rng.integers(1, 4)))}"] = None
    return [
        (str(group), template)
        for template in made
        for group in rng.choice(GROUPS, rng.integers(1, 3), replace=False)
        for _ in range(rng.integers(1, 4))
    ]


def _candidates(
    rng: np.random.Generator,
    library: TemplateLibrary,
    pool: Sequence[str],
    matching: int,
    outcomes: int,
) -> Candidates:
    most = min(matching, len(library.centers))
    centers = sorted(rng.choice(len(library.centers), rng.integers(1, most + 1), False).tolist())
    makeable = [
        tuple(sorted(rng.choice(pool, rng.integers(1, 4)).tolist())) for _ in range(outcomes)
    ]
    numbers: dict[tuple[str, ...], int] = {}
    runs = []
    for template in sorted(t for center in centers for t in library.templates_of[center]):
        if rng.random() < 0.8:
            chosen = rng.choice(len(makeable), rng.integers(1, 4), replace=False)
            made = [numbers.setdefault(makeable[at], len(numbers)) for at in chosen]
            runs.append((template, list(dict.fromkeys(made))))
    return Candidates(centers, runs, list(numbers))
