"""GraphClassifier: classes of graphs, or several yes/no labels, in scikit-learn's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from gmpool.errors import DataError
from gmpool.estimators.columns import gaps, plain
from gmpool.estimators.graph_estimator import GraphEstimator, with_labels
from gmpool.estimators.targets import class_fields, columns_of, numbers
from gmpool.estimators.weights import sample_weights, weights
from gmpool.tasks.classify.ensemble import Ensemble

Array = NDArray[Any]


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classes of molecules or other graphs, by an ensemble that knows how sure it is.

    X is a list or Series of SMILES, of PyG `Data` or of NetworkX graphs, or PackedGraphs; y one
    class for each, or a table of 0, 1 and gaps with a column for each yes/no label.

    method: a pooling method (gmpool list methods).
    members: so many models are trained apart and predict together.
    members_by: they differ in "seeds" and share what is held out, or in "folds": each holds out
        another part, and together all.
    epochs: none: as many as the preset for own data has.
    validation: the share of graphs that is held out; the best epoch is chosen by it, and
        probabilities are calibrated. Ensembles by folds hold out one part of so many as members.
    split: how they are held out: "random", "stratified" or "scaffold".
    class_weight: "balanced", or a dict from class to weight; none: all weigh as much.
    random_state: of first weights, batches and what is held out.
    device: "cpu", "cuda" or "auto".
    n_jobs: processes with one thread each that train members on a CPU; -1: one per core.
    node_label, node_features: attributes of NetworkX nodes that hold a category, or numbers.
    verbose: whether each member is told of on standard error.
    options: what gmpool list options shows, such as hidden_dim=256 or descriptors="quick".
    """

    classes_: Any
    """The classes in order; of several labels a list with those of each, as scikit-learn has it."""

    def __init__(
        self,
        method: str = "gmt",
        *,
        members: int = 5,
        members_by: str = "seeds",
        epochs: int | None = None,
        validation: float = 0.1,
        split: str = "stratified",
        class_weight: Any = None,
        random_state: Any = None,
        device: str = "auto",
        n_jobs: int = -1,
        node_label: str | None = None,
        node_features: str | None = None,
        verbose: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            method, members=members, members_by=members_by, epochs=epochs, validation=validation,
            split=split, random_state=random_state, device=device, n_jobs=n_jobs,
            node_label=node_label, node_features=node_features, verbose=verbose, **options,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """sample_weight [n]: how much each graph counts, 0 or more."""
        graphs, reads = self._packed(X)
        table, names, _ = columns_of(y, len(graphs))
        labels, classes = class_fields(table, names)
        by_class = isinstance(self.class_weight, Mapping)
        of_class = self.class_weight if by_class else None
        labels["graph_weight"] = weights(sample_weight, of_class, classes, labels)
        settings = {} if by_class else {"class_weight": self.class_weight}
        fitted = {"_reads": reads, "classes_": classes, "label_names_": list(names)}
        return self._learn(with_labels(graphs, labels), fitted, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def _has_one_label(self) -> bool:
        return self.model_.shape.task == "multiclass" or self.model_.shape.num_outputs == 1

    def predict_proba(self, X: Any, return_std: bool = False) -> Any:
        """Calibrated probabilities of the classes [n, C]; of several yes/no labels those of yes
        [n, T]. return_std: beside them how much the members differ."""
        value, std = self._answer(X)
        if self.model_.shape.task == "binary" and self._has_one_label:
            value, std = np.concatenate([1 - value, value], 1), np.repeat(std, 2, 1)
        return (value, std) if return_std else value

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The most likely class of each [n]; of several labels 0 or 1 [n, T]. return_std: beside
        them how much the members differ on its probability."""
        p, std = self.predict_proba(X, return_std=True)
        if self._has_one_label:
            best = p.argmax(1)
            found: Array = self.classes_[best]
            std = np.take_along_axis(std, best[:, None], 1)[:, 0]
        else:
            found = (p > 0.5).astype(int)
        return (found, std) if return_std else found

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Which classes cannot be ruled out: sets that hold the true one as often as `coverage`
        says, on average over graphs like those held out. [n, C], of several labels [n, T, 2]. No
        class at all means that none fits as well as it should."""
        said = self._say(X)
        found = self.model_.sure.sets(said, coverage)
        return found[:, 0] if self._has_one_label else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of labels that are predicted right; gaps are left out."""
        said = self.predict(X)
        table = columns_of(y, len(said)).table
        weight = sample_weights(sample_weight, len(said))
        if self._has_one_label and table.shape[1] == 1:
            there = ~gaps(table)[:, 0] & (True if weight is None else weight > 0)
            _require_any(there)
            truth = table[there, 0]
            if truth.dtype.kind == "O":  # which accuracy_score knows of words alone
                truth = np.array(truth.tolist())
            of_those = None if weight is None else weight[there]
            return float(accuracy_score(truth, said[there], sample_weight=of_those))
        said = said.reshape(len(said), -1)
        if table.shape != said.shape:
            raise DataError(f"y has {table.shape[1]} columns, the model {said.shape[1]} label(s)")
        truth = numbers(table)
        counts = ~np.isnan(truth) * (np.ones(len(said)) if weight is None else weight)[:, None]
        _require_any(counts)
        return float(((said == truth) * counts).sum() / counts.sum())

    def _kept(self) -> dict[str, Any]:
        kept = super()._kept()
        if isinstance(self.class_weight, Mapping):  # whose keys JSON would make words of
            pairs = [[plain(key), plain(value)] for key, value in self.class_weight.items()]
            kept |= {"class_weight": pairs, "params": {**kept["params"], "class_weight": None}}
        if isinstance(self.classes_, list):
            return {**kept, "classes": [0, 1]}
        is_time = self.classes_.dtype.kind in "mM"  # of which tolist may make numbers
        return {**kept, "classes": list(self.classes_) if is_time else self.classes_.tolist()}

    def _take(self, model: Ensemble, kept: Mapping[str, Any]) -> None:
        super()._take(model, kept)
        if "class_weight" in kept:
            self.class_weight = dict(kept["class_weight"])
        shape = model.shape
        classes = np.array(kept["classes"])
        if classes.shape != (shape.num_outputs if shape.task == "multiclass" else 2,):
            raise ValueError(f"classes are {kept['classes']!r:.60}")
        self.classes_ = classes if self._has_one_label else [classes] * shape.num_outputs


def _require_any(there: Array) -> None:
    if not there.any():
        raise DataError("all labels with a weight are missing: there is nothing to score")
