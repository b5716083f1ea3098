"""What a classifier and a regressor of graphs have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from gmpool.config import TrainConfig
from gmpool.data import PackedGraphs
from gmpool.engine.checkpoint import load_model, save_model
from gmpool.engine.ensembles import Ensembles, in_memory
from gmpool.engine.executors.executor import Done, Work
from gmpool.engine.job import Job
from gmpool.errors import CheckpointError, UserError, unknown
from gmpool.estimators.columns import plain
from gmpool.estimators.inputs import categories_of, listed, packed
from gmpool.estimators.kept import folder_of, read_again, writable
from gmpool.estimators.told import Told
from gmpool.estimators.validation import held_out
from gmpool.estimators.ways import at_once, device_of, executor_for
from gmpool.tasks.classify.embed import vector_width
from gmpool.tasks.classify.ensemble import Ensemble, say
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.classify.sureness import Array, Sure
from gmpool.tasks.task import TASKS, task_of

TASK = TASKS["classify"]


class GraphEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An ensemble of one pooling method, trained on graphs and their labels.

    X is a list or Series of SMILES, of PyG `Data` or of NetworkX graphs, or PackedGraphs.
    """

    model_: Ensemble
    _reads: dict[str, Any]

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

    def _packed(self, X: Any) -> tuple[PackedGraphs, dict[str, Any]]:
        """(the graphs to learn from, how new ones are to be read)"""
        X = listed(X)
        reads: dict[str, Any] = {
            "node_label": self.node_label,
            "node_features": self.node_features,
            "node_categories": categories_of(X, self.node_label),
        }
        return packed(X, **reads), reads

    def _learn(self, graphs: PackedGraphs, fitted: Mapping[str, Any], **settings: Any) -> Self:
        """graphs: with labels. fitted: attributes for when all has gone well, for a fit that fails
        leaves what was there. settings: options that are arguments of the constructor."""
        if not task_of(TASK.name, self.method).has_weights:
            raise UserError(f"method {self.method!r} learns no weights; take another, such as gmt")
        device, seed = device_of(self.device), seed_of(self.random_state)
        dataset = held_out(_that_count(graphs), self.split, self.validation, seed)
        settings |= {"members": self.members, "members_by": self.members_by}
        if self.epochs is not None:
            settings["epochs"] = self.epochs
        options = {name: plain(value) for name, value in {**self._options, **settings}.items()}
        job = Job.make(TASK.name, dataset, self.method, first_seed=seed, options=options)
        inner = executor_for(device, job.model.members, self.n_jobs)
        ensembles = Ensembles(inner, in_memory(inner))
        with at_once(alone=job.model.members == 1):
            _, run, done = next(iter(ensembles.run([Work(job, job.runs)], self._told())))
        if not isinstance(done, Done):
            raise done
        data, split = job.task.data_for(dataset, job.model), job.split(run)
        model = job.task.for_use(done.trained.model, data, split, done.trained.outputs)
        score = done.trained.best.valid_metric
        self.__dict__.update(fitted, model_=model, validation_score_=score)
        return self

    def _told(self) -> Told | None:
        return Told() if self.verbose else None

    # -- predictions ------------------------------------------------------------------------------

    def _new(self, X: Any) -> PackedGraphs:
        """Graphs as the fitted model reads them, on its device."""
        check_is_fitted(self, "model_")
        device = device_of(self.device)
        self.model_.to(device)
        graphs = packed(X, **self._reads, edge_cat_sizes=self.model_.shape.edge_cat_sizes)
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

    @property
    def _n_features_out(self) -> int:
        """Of `transform`, for its names and for set_output."""
        return vector_width(self.model_)

    # -- files ------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the fitted ensemble to a folder, which `load` and gmpool predict read."""
        check_is_fitted(self, "model_")
        save_model(TASK, self.model_, folder_of(folder), {"estimator": writable(self._kept())})

    def _kept(self) -> dict[str, Any]:
        """What a file says beside the model, as JSON has it."""
        params = {name: plain(value) for name, value in self.get_params(deep=False).items()}
        if type(params["random_state"]) is not int:
            params["random_state"] = None
        params["device"] = str(params["device"])
        score = self.validation_score_
        return {
            "kind": type(self).__name__,
            "params": params,
            "reads": self._reads,
            "label_names": self.label_names_,
            "validation_score": score if np.isfinite(score) else None,
        }

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What `save` wrote."""
        saved = load_model(folder_of(folder))
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
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{folder}: what it says of its estimator cannot be read ({error}); save it again"
            ) from error
        return made

    def _take(self, model: Ensemble, kept: Mapping[str, Any]) -> None:
        self.model_, self._reads = model, read_again(kept)
        self.label_names_ = list(kept["label_names"])
        score = kept["validation_score"]
        self.validation_score_ = float("nan") if score is None else float(score)


def with_labels(graphs: PackedGraphs, labels: dict[str, Any]) -> PackedGraphs:
    return replace(graphs, name="X", **labels)


def seed_of(random_state: Any) -> int:
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise UserError(
            f"random_state is a number from 0 to 2**32 - 1, a RandomState or None, got "
            f"{random_state!r}"
        ) from error


def _that_count(graphs: PackedGraphs) -> PackedGraphs:
    """Those of no weight are as if they were not there: nor are they held out."""
    weight = graphs.graph_weight
    if weight is None or bool(weight.all()):
        return graphs
    return graphs.select(weight.nonzero().squeeze(1))


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Raises for a name that no method and no training knows."""
    names = {field.name for kind in (ModelConfig, TrainConfig) for field in fields(kind)}
    names |= {name for method in TASK.methods() for name in TASK.options(method)}
    names -= {"method", "pool"}
    for name in options:
        if name not in names and name.removeprefix("pool.") not in names:
            raise unknown("option", name, names)
    return options
