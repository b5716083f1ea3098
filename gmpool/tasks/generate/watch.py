"""What is seen of a generator while it learns: its molecules after every epoch, and their scores.

Scores are made where RDKit is installed, on a GPU's machine in processes beside the training.
Elsewhere the molecules themselves are recorded, packed, and scored later (`late_scores.py`).
"""

import math
import os
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from importlib.util import find_spec
from typing import Any

import torch

from gmpool.tasks.generate.beside import Scored, Scoring
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.learned import Learned
from gmpool.tasks.generate.packed_draws import pack_draws
from gmpool.tasks.generate.scores import MOST_MEASURED, DrawScorer, DrawScores, canonical
from gmpool.tasks.generate.settings import MolGANTrainConfig
from gmpool.tasks.trainable import Rows

SHOWN = 8
"""SMILES that are recorded after every epoch: of the first valid draws."""
OF_ALL = ("draws",)
OF_LAST = ("rings", "histograms")
CURVES = tuple(f.name for f in fields(DrawScores) if f.name not in (*OF_ALL, *OF_LAST))
"""Scores that are recorded after every epoch."""


class DrawWatch:
    """Scores `draws` molecules after every epoch."""

    def __init__(self, molecules: SmallMolecules, train: MolGANTrainConfig, device: str) -> None:
        assert train.epoch_steps is not None
        self.numbers = torch.arange(train.draws)
        self.molecules, self.epoch_steps = molecules, train.epoch_steps
        workers = 0 if device == "cpu" else max(1, (os.cpu_count() or 2) - 1)
        self.scoring = scoring_of(molecules, workers) if find_spec("rdkit") else None
        self.iterations: list[int] = []
        self.scored: list[Callable[[], Scored]] = []
        self.packed: list[str] = []

    def see(self, epoch: int, rows: Rows) -> None:
        self.iterations.append(epoch * self.epoch_steps)
        drawn = rows[0].numpy()
        if self.scoring is None:
            self.packed.append(pack_draws(drawn, self.molecules.alphabet))
        else:
            self.scored.append(self.scoring.submit(drawn, SHOWN))

    def said(self) -> tuple[float, dict[str, Any]]:
        if self.scoring is None:
            drawn = {"iteration": self.iterations, "packed": self.packed}
            return math.nan, {"drawn": {**drawn, "alphabet": self.molecules.alphabet.to_json()}}
        found = said_of(self.molecules, self.iterations, [scored() for scored in self.scored])
        return found["selection_score"], found


def said_of(
    molecules: SmallMolecules, iterations: list[int], scored: list[Scored]
) -> dict[str, Any]:
    """What a row says of the scores of its epochs, and of what was learned from."""
    each, last = [asdict(found.scores) for found in scored], scored[-1].scores
    return {
        "selection_score": last.vun,
        "generated": {
            "iteration": iterations,
            **{name: [_short(scores[name]) for scores in each] for name in CURVES},
            **{name: each[-1][name] for name in (*OF_ALL, *OF_LAST)},
            "smiles": [found.smiles for found in scored],
        },
        "training": _training(_Known(molecules)),
    }


def _short(value: float) -> float | None:
    """Six digits are more than a thousand draws can tell; JSON has no NaN; counts stay."""
    if isinstance(value, int):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None


def scoring_of(molecules: SmallMolecules, workers: int) -> Scoring:
    """One for all runs on a set: the molecules it learns from are read once."""
    return _scoring(_Known(molecules), workers)


class _Known:
    """A set by what its scores depend on."""

    def __init__(self, molecules: SmallMolecules) -> None:
        self.molecules, self.key = molecules, molecules.known_by

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.key == other.key


@cache
def _scoring(known: _Known, workers: int) -> Scoring:
    return Scoring(DrawScorer(known.molecules.alphabet, _canonical(known)), workers)


@cache
def _canonical(known: _Known) -> frozenset[str]:
    molecules = known.molecules
    return frozenset(canonical([molecules.smiles[i] for i in molecules.train.tolist()]))


@cache
def _training(known: _Known) -> dict[str, Any]:
    """The same of some molecules that are learned from, spread evenly over the set."""
    molecules = known.molecules
    some = molecules.train[:: -(-len(molecules.train) // MOST_MEASURED)]
    rows = molecules.rows.cpu()[some].numpy()
    scores = asdict(DrawScorer(molecules.alphabet, frozenset()).score(rows))
    return {name: scores[name] for name in OF_LAST}


def learned_of(molecules: SmallMolecules) -> Learned:
    """By which a saved model knows what is new."""
    return _learned(_Known(molecules))


@cache
def _learned(known: _Known) -> Learned:
    return Learned.of(_canonical(known))
