"""Retrosynthesis, as a task: GLN with any pooling, and templates by their frequency beside it."""

import inspect
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from gmpool.data import Card, Split
from gmpool.data.sources.find_file import cache_dir, find, folders
from gmpool.errors import DataError, UserError, unknown
from gmpool.record import Row
from gmpool.report.grid import Grid
from gmpool.report.metrics import METRICS, Metric
from gmpool.tasks.graph_task import declared_types
from gmpool.tasks.predictions import Predictions
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.encoders import POOLINGS, pooling_of, pooling_options
from gmpool.tasks.retrosynthesis.features import elements_of
from gmpool.tasks.retrosynthesis.frequency import frequency_ranks
from gmpool.tasks.retrosynthesis.library import UNKNOWN
from gmpool.tasks.retrosynthesis.model import GLN, Shape
from gmpool.tasks.retrosynthesis.plots import pictures
from gmpool.tasks.retrosynthesis.prepare import Done, prepare
from gmpool.tasks.retrosynthesis.prepared import ENDING, Prepared
from gmpool.tasks.retrosynthesis.proposals import Proposals, propose
from gmpool.tasks.retrosynthesis.reactions import NAMED
from gmpool.tasks.retrosynthesis.settings import (
    GLNConfig,
    GLNTrainConfig,
    check_model,
    gln_settings,
)
from gmpool.tasks.retrosynthesis.table import grids, summary
from gmpool.tasks.retrosynthesis.top_k import DECODINGS, MERGED, PUBLISHED, rank_scores, top_k
from gmpool.tasks.saved_settings import read_settings
from gmpool.tasks.task import TASKS, Asked, Fitted, Flag, Task
from gmpool.tasks.trainable import Rows

METRICS.register("top-1")(Metric("%", higher=True))
GIVEN = "-given"
"""Behind the name of a set: classes are known."""
KNOWN = {
    name: Card(name, digest, (split,), 50_016, atoms)
    for name, digest, split, atoms in (
        ("USPTO-50k", "3b2561fadaf1453782b00cb5d000d78418185e23a122df64dc4d654711c59b56",
         "c88cd2e2803e8249d978989c5ad4fe7cd06a47d6da3c63ff81632f063a0cb890", 126_472_203),
        ("USPTO-50k-given", "eed10f4f9f31f942a36153cd4f7025985fc40c913f3ed5a9b8df4034842302b5",
         "3a514087a62e086f0ed8d1625441e0c97be43ba01cfa90b627d860c653690f2e", 26_863_106),
    )
}  # fmt: skip
"""The sets by name, as they are prepared by RDKit 2026.9.1 and rdchiral-plus 0.6.0."""


def prepared_file(name: str) -> str:
    """What the prepared file of a named set is called."""
    return NAMED[name].split(".")[0] + ENDING


class Retrosynthesis(Task):
    """Learn which reactants a product can be made from."""

    name = family = "retrosynthesis"
    verb: ClassVar[str | None] = "retro train"
    help = "Learn from reactions what a product can be made of: GLN with any pooling."
    default_method = "gmpool"
    flags = (
        Flag("class_given", bool, "The class of a reaction is known: templates seen with it."),
        Flag("queries", bool, "Atoms of patterns show the hydrogens, degree and charge they ask."),
    )
    scores_outputs = True
    model_config = GLNConfig
    train_config = GLNTrainConfig

    def open(self, source: str, root: Path | None = None, **options: Any) -> Reactions:
        """A prepared file, or the name of a set that was prepared."""
        given = bool(options.get("class_given"))
        if source in KNOWN:
            given, source = given or source.endswith(GIVEN), source.removesuffix(GIVEN)
        if source in NAMED:
            wanted = prepared_file(source)
            path = find([wanted], root)
            if path is None:
                places = ", ".join(map(str, folders(root)))
                raise DataError(
                    f"{source} is not prepared: no file {wanted} in {places}; make it once with: "
                    f'gmpool retro prepare "{source}"'
                )
        elif Path(source).is_file():
            path = Path(source)
        elif Path(source).suffix or len(Path(source).parts) > 1:
            raise DataError(f"{source}: no such file; make one with: gmpool retro prepare")
        else:
            raise unknown("dataset", source, KNOWN)
        prepared, queries = Prepared.load(path), bool(options.get("queries"))
        if given and prepared.library.groups == (UNKNOWN,):
            raise DataError(f"{path}: its reactions have no classes; leave --class-given out")
        dataset = Reactions.of(prepared, given=given, queries=queries)
        known = KNOWN.get(source + (GIVEN if given else "")) if source in NAMED else None
        if known is not None and not queries and dataset.digest != known.digest:
            raise DataError(
                f"{path}: candidates of {source} as other versions of RDKit or rdchiral find them, "
                f"with which no recorded run can be compared; give its path instead of the name"
            )
        return dataset

    def card(self, name: str) -> Card | None:
        return KNOWN.get(name)

    def prepare(self, source: str, root: Path | None, out: Path, **options: Any) -> Done:
        """Write what `open` reads, of a table of reactions (`prepare.py`)."""
        return prepare(source, root, out, **options)

    def prepared_place(self, source: str) -> Path:
        """Where the prepared file of a table is put: of a named set where `open` finds it."""
        if source in NAMED:
            return cache_dir() / prepared_file(source)
        return Path(Path(source).name.split(".")[0] + ENDING)

    def splits(self, dataset: Reactions) -> Sequence[Split]:
        return (dataset.split,)

    def size(self, dataset: Reactions) -> float:
        """Atoms that are encoded for a reaction."""
        nodes = [name.endswith("nodes") for name in dataset.needs.names]
        return float(dataset.needs.drawn[:-1][:, nodes].sum(1).double().mean())

    def methods(self) -> Sequence[str]:
        return list(POOLINGS)

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return pooling_options(method)

    def about(self, method: str) -> str:
        return (pooling_of(method).__doc__ or "").splitlines()[0]

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[GLNConfig, GLNTrainConfig]:
        return gln_settings(method, options, declared_types(self.options(method)))

    def label(self, model: GLNConfig) -> str:
        return " ".join([model.method, *(f"{key}={value}" for key, value in model.pool.items())])

    def build(self, dataset: Reactions, model: GLNConfig) -> GLN:
        return GLN(shape_of(dataset), model)

    def rebuild(self, shape: Mapping[str, Any], model: Mapping[str, Any]) -> GLN:
        config = read_settings(GLNConfig, model, self.options)
        check_model(config)
        return GLN(Shape.from_json(shape), config)

    def metric(self, dataset: Reactions, model: Any) -> str:
        return "top-1"

    def predict(self, model: GLN, source: Any, root: Path | None, **options: Any) -> Predictions:
        raise UserError(
            "a product can be made in many ways, which are rows of their own; use: "
            "gmpool retro predict MODEL PRODUCTS"
        )

    def propose(self, model: GLN, target: str, **options: Any) -> Proposals:
        """What a saved model says products can be made of (`proposals.py`)."""
        return propose(model, target, **options)

    def scores(
        self, model: Any, dataset: Reactions, outputs: Mapping[str, Rows], split: Split
    ) -> dict[str, Any]:
        """Top-k of the test part, by class too, and every rank, so that lines can be paired."""
        found: dict[str, Any] = {}
        if "test" in outputs:
            ranks = _of_reactions(outputs["test"])
            groups = dataset.prepared.arrays["reactions.group"][dataset.split.test.numpy()]
            found = rank_scores(ranks, groups, dataset.prepared.library.groups)
        if "valid" in outputs:
            ranks = _of_reactions(outputs["valid"])
            found["valid_top"] = {name: top_k(ranks[name]) for name in DECODINGS}
        return {"retrosynthesis": found}

    def cannot_stack(self, dataset: Reactions, model: Any) -> str | None:
        return None

    def fixed_batches(self, dataset: Reactions, model: Any) -> Reactions:
        return dataset

    def grids(self, asked: Asked) -> list[Grid]:
        made = grids(asked.cells, asked.title)
        made[-1] = replace(made[-1], pictures=pictures(asked.cells))
        return made

    def summary(self, rows: Sequence[Row]) -> list[Grid]:
        return summary(rows)


def shape_of(dataset: Reactions) -> Shape:
    prepared = dataset.prepared
    elements = elements_of(prepared.arrays["atoms"])
    width = dataset.features.shape[1]
    return Shape(width, elements, dataset.queries, dataset.given, prepared.library.to_json())


def _of_reactions(rows: Rows) -> dict[str, np.ndarray]:
    """Without those that only fill a batch up."""
    published, merged, real = (each.cpu().numpy() for each in rows)
    there = real > 0
    return {PUBLISHED: published[there], MERGED: merged[there]}


class _Nothing:
    """What is learned by counting alone."""

    num_parameters = 0


class Frequency(Retrosynthesis):
    """Stands beside GLN, with its data and tables."""

    name = "retrosynthesis-frequency"
    verb = None
    has_weights = False

    def methods(self) -> Sequence[str]:
        return ["frequency"]

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return {}

    def about(self, method: str) -> str:
        return "Templates in the order of how often they were seen; nothing is learned."

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[GLNConfig, GLNTrainConfig]:
        for key in options:
            raise UserError(f"{method} learns nothing and takes no options, got {key}")
        return GLNConfig(method=method), GLNTrainConfig()

    def fit(self, dataset: Reactions, split: Split, model: GLNConfig) -> Fitted:
        start = time.perf_counter()
        outputs: dict[str, Rows] = {}
        tops = {"valid": math.nan, "test": math.nan}
        for part in tops:
            ids = getattr(split, part).numpy()
            if len(ids):
                ranks = frequency_ranks(dataset, ids)
                rows = [torch.from_numpy(ranks[name]) for name in DECODINGS]
                outputs[part] = (*rows, torch.ones(len(ids)))
                tops[part] = top_k(ranks[PUBLISHED])[0]
        took = time.perf_counter() - start
        return Fitted(_Nothing(), math.nan, tops["valid"], tops["test"], took, outputs)

    def cannot_stack(self, dataset: Reactions, model: Any) -> str | None:
        return "nothing is trained"


TASKS.register(Retrosynthesis.name)(Retrosynthesis())
TASKS.register(Frequency.name)(Frequency())
