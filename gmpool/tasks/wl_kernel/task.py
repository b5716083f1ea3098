"""The subtree kernel as a task: classification by a classical method."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

from gmpool.config import TrainConfig
from gmpool.data import Card, Dataset, Split
from gmpool.errors import UserError
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.classify.task import Classify
from gmpool.tasks.graph_task import keyword_options
from gmpool.tasks.task import Fitted
from gmpool.tasks.wl_kernel.fit import fit_kernel
from gmpool.tasks.wl_kernel.svm import NAME, WLSubtreeSVM


class WLKernel(Classify):
    """Stands beside the networks of classification, with their data, splits and tables."""

    name = "wl-kernel"
    verb = None
    has_weights = False

    def methods(self) -> Sequence[str]:
        return [NAME]

    def options(self, method: str) -> Mapping[str, inspect.Parameter]:
        return keyword_options(WLSubtreeSVM)

    def about(self, method: str) -> str:
        return (WLSubtreeSVM.__doc__ or "").splitlines()[0]

    presets: ClassVar[Mapping[str, Any]] = {}

    def settings(
        self, card: Card, method: str, options: Mapping[str, Any]
    ) -> tuple[ModelConfig, TrainConfig]:
        of_networks = {f.name for cls in (ModelConfig, TrainConfig) for f in fields(cls)}
        for key in options:
            if key in of_networks:
                raise UserError(
                    f"option {key} is for networks, and {method} is none: it takes "
                    f"{', '.join(self.options(method))}; leave {key} out for {method}"
                )
        return super().settings(card, method, options)

    def fit(self, dataset: Dataset, split: Split, model: ModelConfig) -> Fitted:
        metric = self.metric(dataset, model)
        return fit_kernel(dataset.graphs, split, WLSubtreeSVM(**model.pool), metric=metric)

    def cannot_stack(self, dataset: Dataset, model: ModelConfig) -> str:
        return f"{model.method} is no network"
