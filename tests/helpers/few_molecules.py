"""Few small molecules: as a set to imitate, as a table, and settings that are done in a moment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gmpool.data import Dataset, from_smiles
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.write import small_molecules

FEW = ("CC", "CO", "CCO", "CCC", "COC", "OO")
"""At most three atoms of two elements: of what is drawn at random a good part is valid."""
OPTIONS = {
    "epochs": 2, "epoch_steps": 5, "draws": 20, "batch_size": 4,
    "conv_dim": 8, "pool_dim": 8, "generator_dim": 8,
}  # fmt: skip
FLAGS = [word for key, value in OPTIONS.items() for word in ("-o", f"{key}={value}")]


def molecule_set(smiles: Sequence[str] = FEW, name: str = "few") -> Dataset:
    """Without a split."""
    return Dataset.of(from_smiles(smiles, name=name), ())


def few_molecules(smiles: Sequence[str] = FEW, **options: Any) -> SmallMolecules:
    """Options are those of `small_molecules`."""
    return small_molecules(molecule_set(smiles), **options)


def write_table(path: Path | str, smiles: Sequence[str] = FEW) -> Path:
    found = Path(path)
    found.write_text("smiles\n" + "".join(f"{text}\n" for text in smiles))
    return found
