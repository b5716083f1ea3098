"""Methods on numbers that are none: NaN, infinities, 1e20, no graphs, no nodes, half precision."""

from __future__ import annotations

import random
from pathlib import Path

from numerics import attack

from gmpool.pool import METHODS
from tests.campaign.inputs.batches import Inputs


def make(rng: random.Random, folder: Path) -> None:
    (folder / "case.txt").write_text(f"{rng.choice(sorted(METHODS))} {rng.randrange(10**6)}")


def attempt(rng: random.Random, folder: Path) -> None:
    method, seed = (folder / "case.txt").read_text().split()
    attack(method, int(seed))


NUMERICS = Inputs("numerics", make, attempt)
