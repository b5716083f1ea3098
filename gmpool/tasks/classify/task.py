"""Graph classification and regression, as a task."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from gmpool.config import TrainConfig
from gmpool.data import CATALOGUE, Card, Dataset, Split
from gmpool.data.dataset import metric_for
from gmpool.data.sources.descriptors import with_descriptors
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_summary
from gmpool.record import Row
from gmpool.report.by_label import label_grid, scores_by_label
from gmpool.report.grid import Grid
from gmpool.report.nested import nested_grid
from gmpool.report.own_grids import own_grids
from gmpool.report.prediction_figures import prediction_pictures
from gmpool.report.score import PARTS
from gmpool.report.summary import by_label_grids, summarise, summary_grid
from gmpool.tasks.classify.embed import embeddings
from gmpool.tasks.classify.ensemble import Ensemble, EnsembleShape
from gmpool.tasks.classify.evaluate import evaluation
from gmpool.tasks.classify.join import calibrated, joined, trainings_of
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.own_rows import in_label_units, is_own, row_says, said_of
from gmpool.tasks.classify.predict import predictions
from gmpool.tasks.classify.settings import AUTHORS, ModelConfig, check_model, configure
from gmpool.tasks.graph_task import (
    FOLD_FLAGS,
    TABLE_FLAGS,
    GraphTask,
    declared_types,
    keyword_options,
)
from gmpool.tasks.predictions import Predictions
from gmpool.tasks.saved_settings import read_settings
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS, Asked, Fitted, Flag, Key, Trainings
from gmpool.tasks.trainable import Rows

FOLDS = Key(lambda v: type(v) is int and v >= 1, "a whole number from 1")


MEMBER_FLAGS = (
    Flag(
        "members",
        int,
        "So many models, trained apart, predict together and know how sure they are.",
        repeat=True,
        to="lines",
    ),
    Flag(
        "members_by",
        str,
        "What members differ in: seeds, or folds (each is validated on another part; with several "
        "lines and outer folds that is nested cross-validation).",
        repeat=True,
        to="lines",
    ),
)
_described: WeakKeyDictionary[Dataset, dict[str, Dataset]] = WeakKeyDictionary()
"""Sets with the descriptors that models have asked for, by their kind."""


def one_of(*words: str) -> Key:
    return Key(lambda v: v in words, f"one of {', '.join(words)}")


class Classify(GraphTask):
    """A network from nodes to graph vectors by a pooling method, and a classifier."""

    name = family = "classify"
    verb: ClassVar[str | None] = "train"
    help = "Cross-validate pooling methods on a dataset; finished runs are not done again."
    flags = (*TABLE_FLAGS, *FOLD_FLAGS, *MEMBER_FLAGS)
    plan_keys: ClassVar[Mapping[str, Key]] = {
        "paper": one_of("test", "valid", "ablation", "leaderboard"),
        "part": one_of(*PARTS),
        "folds": FOLDS,
    }
    model_config = ModelConfig
    scores_outputs = True

    def open(self, source: str, root: Path | None = None, **options: Any) -> Dataset:
        dataset = self.read(source, root, **options)
        require_folds(dataset)
        return dataset

    def card_of(self, dataset: Dataset) -> Card:
        return super().card_of(dataset)._replace(is_molecules=dataset.graphs.is_molecular)

    def splits(self, dataset: Dataset) -> Sequence[Split]:
        require_folds(dataset)
        return dataset.folds

    def card(self, name: str) -> Card | None:
        found = super().card(name)
        if found is not None and not CATALOGUE[name].outputs:
            raise UserError(f"{name} has no labels to train on; leave it out of datasets")
        return found

    def methods(self) -> Sequence[str]:
        return list(METHODS)

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return keyword_options(METHODS[method], without=["sizes"])

    def about(self, method: str) -> str:
        return method_summary(method)

    @property
    def presets(self) -> Mapping[str, Mapping[str, Any]]:
        return AUTHORS

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[ModelConfig, TrainConfig]:
        return configure(card, method, options, declared_types(self.options(method)))

    def data_for(self, dataset: Dataset, model: ModelConfig) -> Dataset:
        graphs = with_descriptors(dataset.graphs, model.descriptors)
        if model.descriptors is None or graphs is dataset.graphs:
            return dataset
        known = _described.setdefault(dataset, {})
        return known.setdefault(model.descriptors, replace(dataset, graphs=graphs))

    def is_joined(self, model: ModelConfig) -> bool:
        return model.members > 1

    def trainings(self, dataset: Dataset, fold: int, model: ModelConfig, seed: int) -> Trainings:
        return trainings_of(dataset, fold, model, seed)

    def joined(
        self, models: Sequence[Any], dataset: Dataset, fold: int, model: ModelConfig, seed: int
    ) -> Fitted:
        return joined(models, dataset, fold, model, seed)

    def for_use(
        self, model: Any, dataset: Dataset, split: Split, outputs: Mapping[str, Rows]
    ) -> Any:
        """Calibrated where something was held out."""
        if isinstance(model, Ensemble) or not len(split.valid):
            return model
        return calibrated(model.to("cpu"), dataset, split)

    def build(self, dataset: Dataset, model: ModelConfig) -> GraphModel:
        return GraphModel(DataShape.of(dataset.graphs), model)

    def rebuild(self, shape: Mapping[str, Any], model: Mapping[str, Any]) -> GraphModel | Ensemble:
        config = read_settings(ModelConfig, model, self.options)
        check_model(config)
        if isinstance(shape, Mapping) and "held_out" in shape:
            return Ensemble(EnsembleShape.from_json(shape), config)
        return GraphModel(DataShape.from_json(shape), config)

    def metric(self, dataset: Dataset, model: ModelConfig) -> str:
        assert dataset.graphs.task is not None, "a set with folds has labels"
        return metric_for(dataset.graphs.task, dataset.graphs.num_outputs)

    def scores(
        self, model: Any, dataset: Dataset, outputs: Mapping[str, Rows], split: Split
    ) -> dict[str, Any]:
        """Each label column by itself, and of own data what a report wants."""
        said = said_of(model, outputs) if is_own(dataset) else None
        return row_says(dataset, split, in_label_units(model, outputs), said=said)

    def architecture(self, model: ModelConfig) -> ModelConfig:
        return ModelConfig(**{**vars(model), "dropout": 0.0})

    def grids(self, asked: Asked) -> list[Grid]:
        """Where a set has targets in several units, what was scored on each stands below; where
        members of models differ in inner folds, what these chose."""
        table, *others = super().grids(asked)
        drawn = prediction_pictures((c.dataset, c.label, c.rows) for c in asked.cells)
        lines = [
            (cell.dataset, cell.method, cell.label, scores_by_label(cell.rows))
            for cell in asked.cells
            if any(row.metric == "nrmse" for row in cell.rows)
        ]
        below = [label_grid(lines)] if lines else []
        nested = _nested((cell.dataset, cell.label, cell.rows) for cell in asked.cells)
        data, own = own_grids([(cell.dataset, cell.label, cell.rows) for cell in asked.cells])
        table = replace(table, pictures=[*table.pictures, *drawn])
        return [table, *others, *data, *below, *nested, *own]

    def summary(self, rows: Sequence[Row]) -> list[Grid]:
        lines = summarise(rows)
        table = summary_grid(lines)
        drawn = prediction_pictures((s.dataset, s.label, s.rows) for s in lines)
        nested = _nested((s.dataset, s.label, s.rows) for s in lines)
        data, own = own_grids([(s.dataset, s.label, s.rows) for s in lines])
        table = replace(table, pictures=[*table.pictures, *drawn])
        return [table, *data, *by_label_grids(lines), *nested, *own]

    def predict(self, model: Any, source: Any, root: Path | None, **options: Any) -> Predictions:
        return predictions(model, source, root, **options)

    def embed(self, model: Any, source: Any, root: Path | None, **options: Any) -> Predictions:
        return embeddings(model, source, root, **options)

    def evaluate(self, model: Any, source: Any, root: Path | None, **options: Any) -> list[Grid]:
        return evaluation(model, source, root, **options)


def _nested(lines: Iterable[tuple[str, str, Sequence[Row]]]) -> list[Grid]:
    grid = nested_grid(lines)
    return [] if grid is None else [grid]


def require_folds(dataset: Dataset) -> None:
    if dataset.folds and dataset.metric is None:
        raise UserError(
            f"{dataset.name} has no labels to train on; its nodes can be reconstructed: "
            f"gmpool reconstruct {dataset.name}"
        )
    if not dataset.folds:
        raise UserError(
            f"{dataset.name} has no folds to train on: it needs labels and at least 3 graphs, "
            f"got {len(dataset.graphs)} graph(s) and "
            f"{len(dataset.graphs.task_names) or 'no'} label column(s)"
        )


TASKS.register(Classify.name)(Classify())
