"""What a classifier and a regressor of graphs have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gmpool.config import TrainConfig
from gmpool.data import PackedGraphs
from gmpool.engine.checkpoint import load_model, save_model
from gmpool.engine.device import usable_device
from gmpool.engine.ensembles import Ensembles, in_memory
from gmpool.engine.executors.executor import Alone, Done, Executor, Work
from gmpool.engine.executors.processes import Processes, usable_cores
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.errors import CheckpointError, UserError, unknown
from gmpool.estimators.inputs import categories_of, packed
from gmpool.estimators.told import Told
from gmpool.estimators.validation import held_out
from gmpool.tasks.classify.ensemble import Ensemble, say
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.classify.sureness import Array, Sure
from gmpool.tasks.task import TASKS, task_of

TASK = TASKS["classify"]


class GraphEstimator(TransformerMixin, BaseEstimator):
    """An ensemble of one pooling method, trained on graphs and their labels.

    X is a list or Series of SMILES, of PyG `Data` or of NetworkX graphs, or PackedGraphs.
    """

    model_: Ensemble

    def __init__(
        self,
        method: str = "gmt",
        *,
        members: int = 5,
        members_by: str = "seeds",
        epochs: int | None = None,
        validation: float = 0.1,
        split: str = "random",
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int = -1,
        node_label: str | None = None,
        node_features: str | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        self.method = method
        self.members = members
        self.members_by = members_by
        self.epochs = epochs
        self.validation = validation
        self.split = split
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.node_label = node_label
        self.node_features = node_features
        self.verbose = verbose
        self._options = _known(options)

    # -- parameters -------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Of the constructor, options too, by name."""
        return {**super().get_params(deep), **self._options}

    def set_params(self, **params: Any) -> Self:
        """Change some of them."""
        named = set(self._get_param_names())
        options = _known({name: value for name, value in params.items() if name not in named})
        super().set_params(**{name: params[name] for name in params.keys() & named})
        self._options = {**self._options, **options}
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    # -- fitting ----------------------------------------------------------------------------------

    def _packed(self, X: Any) -> PackedGraphs:
        """The graphs to learn from."""
        self._categories = categories_of(X, self.node_label)
        return packed(
            X,
            node_label=self.node_label,
            node_features=self.node_features,
            node_categories=self._categories,
        )

    def _learn(self, graphs: PackedGraphs, **settings: Any) -> Self:
        """graphs: with labels. settings: options that are arguments of the constructor."""
        if not task_of(TASK.name, self.method).has_weights:
            raise UserError(f"method {self.method!r} learns no weights; take another, such as gmt")
        device = usable_device(self.device, "device=")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        dataset = held_out(graphs, self.split, self.validation, seed)
        settings |= {"members": self.members, "members_by": self.members_by}
        if self.epochs is not None:
            settings["epochs"] = self.epochs
        options = {**self._options, **settings}
        job = Job.make(TASK.name, dataset, self.method, first_seed=seed, options=options)
        inner = self._executor(device, job.model.members)
        ensembles = Ensembles(inner, in_memory(inner))
        told = Told() if self.verbose else None
        _, run, done = next(iter(ensembles.run([Work(job, job.runs)], told)))
        if not isinstance(done, Done):
            raise done
        data, split = job.task.data_for(dataset, job.model), job.split(run)
        self.model_ = job.task.for_use(done.trained.model, data, split, done.trained.outputs)
        self.label_names_ = list(graphs.task_names)
        self.validation_score_ = done.trained.best.valid_metric
        return self

    def _executor(self, device: str, members: int) -> Executor:
        if device != "cpu":
            return Stacked(device)
        if type(self.n_jobs) is not int or self.n_jobs == 0:
            raise UserError(
                f"n_jobs is a number of processes, or -1 for one per core, got {self.n_jobs!r}"
            )
        jobs = usable_cores() + 1 + self.n_jobs if self.n_jobs < 0 else self.n_jobs
        workers = min(max(jobs, 1), members)
        return Processes(workers) if workers > 1 else Alone(device)

    # -- predictions ------------------------------------------------------------------------------

    def _new(self, X: Any) -> PackedGraphs:
        """Graphs as the fitted model reads them, on its device."""
        check_is_fitted(self, "model_")
        shape, device = self.model_.shape, usable_device(self.device, "device=")
        self.model_.to(device)
        graphs = packed(
            X,
            node_label=self.node_label,
            node_features=self.node_features,
            node_categories=self._categories,
            edge_cat_sizes=shape.edge_cat_sizes,
        )
        return self.model_.prepared(graphs).to(device)

    def _say(self, X: Any) -> Array:
        """What each member says. [M, n, ·]"""
        graphs = self._new(X)
        return say(self.model_, graphs)

    def _answer(self, X: Any) -> Sure:
        said = self._say(X)
        return self.model_.sure.answer(said)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The vectors of graphs, those of all members side by side. [n, M · width]"""
        graphs = self._new(X)
        return self.model_.embed(graphs).cpu().numpy()

    # -- files ------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the fitted ensemble to a folder, which `load` and gmpool predict read."""
        check_is_fitted(self, "model_")
        save_model(TASK, self.model_, folder, {"estimator": self._kept()})

    def _kept(self) -> dict[str, Any]:
        """What a file says beside the model, as JSON has it."""
        params = self.get_params(deep=False)
        if type(params["random_state"]) is not int:
            params["random_state"] = None
        return {
            "kind": type(self).__name__,
            "params": params,
            "categories": self._categories,
            "label_names": self.label_names_,
            "validation_score": self.validation_score_,
        }

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What `save` wrote."""
        saved = load_model(folder)
        kept = saved.description["about"].get("estimator")
        if not isinstance(kept, Mapping) or kept.get("kind") != cls.__name__:
            was = kept.get("kind") if isinstance(kept, Mapping) else "a model of gmpool train"
            raise CheckpointError(
                f"{folder} holds {was}, not a {cls.__name__}; gmpool.load_model and gmpool predict "
                "read models of every kind"
            )
        try:
            made = cls(**kept["params"])
            made._take(saved.model, kept)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{folder}: what it says of its estimator cannot be read ({error}); save it again"
            ) from error
        return made

    def _take(self, model: Ensemble, kept: Mapping[str, Any]) -> None:
        self.model_ = model
        self._categories = kept["categories"]
        self.label_names_ = list(kept["label_names"])
        self.validation_score_ = kept["validation_score"]


def with_labels(graphs: PackedGraphs, labels: dict[str, Any]) -> PackedGraphs:
    return replace(graphs, name="X", **labels)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Raises for a name that no method and no training knows."""
    names = {field.name for kind in (ModelConfig, TrainConfig) for field in fields(kind)}
    names |= {name for method in TASK.methods() for name in TASK.options(method)}
    names -= {"method", "pool"}
    for name in options:
        if name not in names and name.removeprefix("pool.") not in names:
            raise unknown("option", name, names)
    return options
