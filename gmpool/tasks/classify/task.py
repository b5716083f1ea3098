"""Graph classification and regression, as a task."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from gmpool.config import TrainConfig
from gmpool.data import CATALOGUE, Card, Dataset, Split, load
from gmpool.data.dataset import METRICS
from gmpool.errors import UserError
from gmpool.pool import METHODS, method_summary
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import predictions
from gmpool.tasks.classify.settings import AUTHORS, ModelConfig, configure
from gmpool.tasks.graph_task import TABLE_FLAGS, GraphTask, declared_types, keyword_options
from gmpool.tasks.shape import DataShape
from gmpool.tasks.task import TASKS, Flag, Key, Predictions

FOLDS = Key(lambda v: type(v) is int and v >= 1, "a whole number from 1")


def one_of(*words: str) -> Key:
    return Key(lambda v: v in words, f"one of {', '.join(words)}")


class Classify(GraphTask):
    """A network from nodes to graph vectors by a pooling method, and a classifier."""

    name = family = "classify"
    verb: ClassVar[str | None] = "train"
    help = "Cross-validate pooling methods on a dataset; finished runs are not done again."
    flags = (
        *TABLE_FLAGS,
        Flag("label", str, "CSV: a label column.", repeat=True),
        Flag("task", str, "CSV: multiclass, binary or regression; default inferred."),
    )
    plan_keys: ClassVar[Mapping[str, Key]] = {
        "paper": one_of("test", "valid", "ablation", "leaderboard"),
        "part": one_of("test", "valid"),
        "folds": FOLDS,
    }
    model_config = ModelConfig

    def open(self, source: str, root: Path | None = None, **options: Any) -> Dataset:
        labels = options.pop("label", None) or None
        dataset = load(source, root, label_columns=labels, **options)
        require_folds(dataset)
        return dataset

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
        return configure(card.name, method, options, declared_types(self.options(method)))

    def build(self, dataset: Dataset, model: ModelConfig) -> GraphModel:
        return GraphModel(DataShape.of(dataset.graphs), model)

    def rebuild(self, shape: Mapping[str, Any], model: Mapping[str, Any]) -> GraphModel:
        return GraphModel(DataShape.from_json(dict(shape)), ModelConfig(**model))

    def metric(self, dataset: Dataset, model: ModelConfig) -> str:
        assert dataset.graphs.task is not None, "a set with folds has labels"
        return METRICS[dataset.graphs.task]

    def architecture(self, model: ModelConfig) -> ModelConfig:
        return ModelConfig(**{**vars(model), "dropout": 0.0})

    def predict(
        self, model: GraphModel, source: str, root: Path | None, **options: Any
    ) -> Predictions:
        return predictions(model, source, root, **options)


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
