"""Molecule generation, as a task."""

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gmpool.config import TrainConfig
from gmpool.data import CATALOGUE, Card, Split, load
from gmpool.data.dataset import source_of
from gmpool.options import between
from gmpool.record import Row
from gmpool.report.grid import Grid, Picture
from gmpool.report.metrics import METRICS, Metric
from gmpool.tasks.generate.alphabet import MOST_PLACES
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.late_scores import with_scores
from gmpool.tasks.generate.model import MolGAN, Shape
from gmpool.tasks.generate.page import sampled_page
from gmpool.tasks.generate.plots import pictures
from gmpool.tasks.generate.poolings import POOLINGS, pooling_of, pooling_options
from gmpool.tasks.generate.sample import molecules_of
from gmpool.tasks.generate.settings import (
    MolGANConfig,
    MolGANTrainConfig,
    check_model,
    molgan_settings,
)
from gmpool.tasks.generate.table import grids, summary
from gmpool.tasks.generate.watch import DrawWatch, learned_of
from gmpool.tasks.generate.write import small_molecules
from gmpool.tasks.graph_task import TABLE_FLAGS, OpensSets, declared_types
from gmpool.tasks.saved_settings import read_settings
from gmpool.tasks.task import TASKS, Asked, Flag, Samples

METRICS.register("vun")(Metric("%", higher=True))
SPLITS = {"QM9": "5730342b0086c1a153cd1d1d94772330d0544e69d5b8c222307f3cacda151e88"}
"""Digests of the molecules that are learned from, by the name of the set."""


class Generate(OpensSets):
    """Learn to make molecules like those of a set: MolGAN with any pooling in its critic."""

    name = family = "generate"
    verb = "generate train"
    help = "Learn to make new molecules like those of a table: MolGAN with any pooling."
    default_method = "gmpool"
    flags = (
        Flag("max_atoms", int, "Larger molecules do not fit; default: as large as the largest."),
        Flag("element", str, "An element that fits; default: all that are there.", repeat=True),
        *(flag for flag in TABLE_FLAGS if flag.name in
          ("smiles_column", "split_column", "skip_bad_rows")),
    )  # fmt: skip
    alike = (*OpensSets.alike, "draws")
    at_once = None
    makes_samples = True
    model_config = MolGANConfig
    train_config = MolGANTrainConfig

    def open(self, source: str, root: Path | None = None, **options: Any) -> SmallMolecules:
        """max_atoms, element: what fits. skip_bad_rows: leave out what does not, of any set. The
        others are of a table."""
        max_atoms, element = options.pop("max_atoms", None), options.pop("element", None)
        if max_atoms is not None:
            between(2, MOST_PLACES, max_atoms=max_atoms)
        leave_out = source in CATALOGUE or bool(options.get("skip_bad_rows"))
        found = source_of(source)
        if found and "skip_bad_rows" not in found.options:  # which are of a table alone
            options.pop("skip_bad_rows", None)
        dataset = load(source, root, label_columns=(), **options)
        return small_molecules(
            dataset, max_atoms=max_atoms, elements=element or (), leave_out=leave_out
        )

    def takes(self, text: str, folder: Path) -> Collection[str]:
        return {"max_atoms", "element", "skip_bad_rows", *super().takes(text, folder)}

    def card(self, name: str) -> Card | None:
        found = super().card(name)
        if found is None or name not in SPLITS:
            return None
        return found._replace(split_digests=(SPLITS[name],))

    def splits(self, dataset: SmallMolecules) -> Sequence[Split]:
        return (dataset.split,)

    def size(self, dataset: SmallMolecules) -> float:
        return dataset.alphabet.places

    def methods(self) -> Sequence[str]:
        return list(POOLINGS)

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return pooling_options(method)

    def about(self, method: str) -> str:
        return (pooling_of(method).__doc__ or "").splitlines()[0]

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[MolGANConfig, MolGANTrainConfig]:
        return molgan_settings(method, options, declared_types(self.options(method)))

    def label(self, model: MolGANConfig) -> str:
        said = [model.method, *(f"{key}={value}" for key, value in model.pool.items())]
        return " ".join(said)

    def build(self, dataset: SmallMolecules, model: MolGANConfig) -> MolGAN:
        return MolGAN(Shape(dataset.alphabet), model)

    def rebuild(self, shape: Mapping[str, Any], model: Mapping[str, Any]) -> MolGAN:
        config = read_settings(MolGANConfig, model, self.options)
        check_model(config)
        return MolGAN(Shape.from_json(shape), config)

    def metric(self, dataset: SmallMolecules, model: MolGANConfig) -> str:
        return "vun"

    def watch(
        self,
        dataset: SmallMolecules,
        split: Split,
        model: MolGANConfig,
        train: TrainConfig,
        device: str,
    ) -> DrawWatch:
        assert isinstance(train, MolGANTrainConfig)
        return DrawWatch(dataset, train, device)

    def finish(
        self, model: MolGAN, dataset: SmallMolecules, split: Split, device: str
    ) -> dict[str, Any]:
        """Nothing more; the model is told what it has learned from, so that it knows what is new,
        where RDKit is installed."""
        if find_spec("rdkit"):
            model.shape = replace(model.shape, learned=learned_of(dataset))
        return {}

    def samples(self, model: MolGAN, number: int, seed: int, device: str) -> Samples:
        return molecules_of(model, number, seed, device)

    def cannot_stack(self, dataset: SmallMolecules, model: MolGANConfig) -> str | None:
        return "rewards are found by RDKit" if model.imitation < 1 else None

    def architecture(self, model: MolGANConfig) -> MolGANConfig:
        """Weights, and which of a mean, sum and maximum counts, are numbers that runs have."""
        alike = model.method in ("mean", "sum", "max")
        method = "mean" if alike else model.method
        return replace(model, penalty=0.0, temperature=1.0, method=method)

    def fixed_batches(self, dataset: SmallMolecules, model: Any) -> SmallMolecules:
        return replace(dataset, dtype=next(model.parameters()).dtype)

    def complete(self, rows: Sequence[Row], folder: Path) -> list[Row]:
        return with_scores(rows, folder, self.open)

    def grids(self, asked: Asked) -> list[Grid]:
        made = grids(asked.cells, asked.title)
        drawn = pictures(asked.cells)
        if find_spec("rdkit"):
            page = partial(sampled_page, asked.cells)
            drawn.append(Picture("molecules", "Sampled molecules", page))
        made[-1] = replace(made[-1], pictures=drawn)
        return made

    def summary(self, rows: Sequence[Row]) -> list[Grid]:
        return summary(rows)


TASKS.register(Generate.name)(Generate())
