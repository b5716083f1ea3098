"""GraphRegressor: numbers of graphs, in scikit-learn's words."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from gmpool.errors import DataError
from gmpool.estimators.graph_estimator import GraphEstimator, with_labels
from gmpool.estimators.targets import columns_of, number_fields, numbers
from gmpool.estimators.weights import sample_weights, weights

Array = NDArray[np.float64]


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Numbers of molecules or other graphs, by an ensemble that knows how sure it is.

    X is a list or Series of SMILES, of PyG `Data` or of NetworkX graphs, or PackedGraphs; y a
    number for each, or a table of them with gaps.

    method: a pooling method (gmpool list methods).
    members: so many models are trained apart and predict together.
    members_by: they differ in "seeds" and share what is held out, or in "folds": each holds out
        another part, and together all.
    epochs: none: as many as the preset for own data has.
    validation: the share of graphs that is held out; the best epoch is chosen by it, and deviations
        are calibrated. Ensembles by folds hold out one part of so many as members.
    split: how they are held out: "random", "stratified" or "scaffold".
    random_state: of first weights, batches and what is held out.
    device: "cpu", "cuda" or "auto".
    n_jobs: processes with one thread each that train members on a CPU; -1: one per core.
    node_label, node_features: attributes of NetworkX nodes that hold a category, or numbers.
    verbose: whether each member is told of on standard error.
    options: what gmpool list options shows, such as hidden_dim=256 or descriptors="quick".
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """sample_weight [n]: how much each graph counts, 0 or more."""
        graphs, reads = self._packed(X)
        table, names, is_flat = columns_of(y, len(graphs))
        labels = number_fields(table, names)
        labels["graph_weight"] = weights(sample_weight, None, None, labels)
        fitted = {"_reads": reads, "_is_flat": is_flat, "label_names_": list(names)}
        return self._learn(with_labels(graphs, labels), fitted)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Values, [n] or [n, T] as y was. return_std: beside them what their error is like."""
        value, std = map(self._as_given, self._answer(X))
        return (value, std) if return_std else value

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Lower and upper ends that hold the truth as often as `coverage` says, on average over
        graphs like those held out. [n, 2] or [n, T, 2]"""
        said = self._say(X)
        low, high = self.model_.sure.intervals(said, coverage)
        return np.stack([self._as_given(low), self._as_given(high)], -1)

    def _as_given(self, table: Array) -> Array:
        return table[:, 0] if self._is_flat else table

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean over columns; gaps, and columns without any label, are left out."""
        said = self.predict(X)
        said = said.reshape(len(said), -1)
        truth = numbers(columns_of(y, len(said)).table)
        if truth.shape != said.shape:
            raise DataError(f"y has {truth.shape[1]} columns, the model {said.shape[1]} label(s)")
        weight = sample_weights(sample_weight, len(said))
        weight = np.ones(len(said)) if weight is None else weight
        each = []
        for t, there in enumerate((~np.isnan(truth) & (weight > 0)[:, None]).T):
            if there.any():
                each.append(r2_score(truth[there, t], said[there, t], sample_weight=weight[there]))
        if not each:
            raise DataError("all labels with a weight are missing: there is nothing to score")
        return float(np.mean(each))

    def _kept(self) -> dict[str, Any]:
        return {**super()._kept(), "is_flat": bool(self._is_flat)}

    def _take(self, model: Any, kept: Any) -> None:
        super()._take(model, kept)
        self._is_flat = bool(kept["is_flat"])
