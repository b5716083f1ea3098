"""Small MolGANs in float64, and graphs for them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.model import MolGAN, Shape
from gmpool.tasks.generate.settings import MolGANConfig, MolGANTrainConfig
from gmpool.tasks.generate.task import Generate

ALPHABET = Alphabet(4, ("C", "O"), ("SINGLE", "DOUBLE"))
NARROW = {"latent_dim": 3, "generator_dim": 5, "conv_dim": 6, "pool_dim": 4}
LINES: dict[str, dict[str, Any]] = {
    "mean": {"method": "mean"},
    "mean-wide": {"method": "mean-wide"},
    "sum": {"method": "sum"},
    "max": {"method": "max"},
    "set2set": {"method": "set2set"},
    "mincut": {"method": "mincut", "pool": {"num_clusters": 2}},
    "gmpool over nodes": {"method": "gmpool", "pool": {"num_heads": 2, "softmax": "nodes"}},
    "gmpool over seeds": {"method": "gmpool", "pool": {"num_heads": 2, "softmax": "seeds"}},
    "gmt": {"method": "gmt", "pool": {"num_heads": 2, "num_seeds": 2}},
}
"""Every pooling, by what a table would call it."""
TRAIN = MolGANTrainConfig(batch_size=6, lr=1e-2, epochs=2, epoch_steps=10, draws=30)


def config_of(**settings: Any) -> MolGANConfig:
    return MolGANConfig(**{**NARROW, **settings})


def tiny_gan(seed: int = 0, **settings: Any) -> MolGAN:
    torch.manual_seed(seed)
    return MolGAN(Shape(ALPHABET), config_of(**settings)).double()


class DoubleGenerate(Generate):
    """The task with models in float64, and nobody who watches."""

    def build(self, dataset: SmallMolecules, model: MolGANConfig) -> MolGAN:
        return super().build(dataset, model).double()

    def watch(self, *_: Any) -> None:  # type: ignore[override]
        return None


def random_molecules(count: int = 40, alphabet: Alphabet = ALPHABET) -> SmallMolecules:
    """Rows that need not be molecules."""
    generator = torch.Generator().manual_seed(7)
    atoms = torch.randint(0, alphabet.atom_kinds, (count, alphabet.places), generator=generator)
    bonds = torch.randint(0, alphabet.bond_kinds, (count, alphabet.pairs), generator=generator)
    rows = torch.cat([atoms, bonds], dim=1).to(torch.uint8)
    return SmallMolecules(
        "random", "no digest", alphabet, rows, (), torch.arange(count), dtype=torch.float64
    )


def graphs(count: int = 6) -> Tensor:
    """Of real molecules, as the critic sees them. [B, F]"""
    return random_molecules().make(torch.arange(count), ()).graphs
