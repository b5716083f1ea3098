"""scikit-learn's own checks. They give rows of numbers, so that here a row is a graph of one node;
what makes no sense of graphs is listed with its reason."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Data

from gmpool import GraphClassifier, GraphRegressor

SMALL = {
    "method": "mean", "members": 1, "epochs": 2, "n_jobs": 1, "validation": 0.3, "hidden_dim": 4,
    "num_layers": 1, "random_state": 0, "split": "random", "lr": 0.01, "warmup_epochs": 0,
}  # fmt: skip
NOT_OURS = {
    "check_n_features_in": "graphs have no number of columns",
    "check_n_features_in_after_fitting": "graphs have no number of columns",
    "check_fit2d_1feature": "graphs have no number of columns",
    "check_fit2d_predict1d": "graphs have no number of columns",
    "check_transformer_preserve_dtypes": "weights are float32, and so are vectors of graphs",
    "check_do_not_raise_errors_in_init_or_set_params": "an option that nobody knows raises at once",
    "check_array_api_input": "graphs are no arrays",
    "check_sample_weight_equivalence_on_dense_data": "what is held out and batches are drawn at "
    "random, so that a graph twice is not a graph of twice the weight",
    "check_class_weight_classifiers": "two epochs are too few to forget a class",
}


def graphs_of(X: Any) -> list[Data]:
    rows = check_array(X, dtype=np.float32)
    none = torch.empty(2, 0, dtype=torch.int64)
    return [Data(x=torch.from_numpy(row[None].copy()), edge_index=none) for row in rows]


class OfRows:
    """Two epochs teach little, and do in all other ways what more would do."""

    def _packed(self, X: Any) -> Any:
        return super()._packed(graphs_of(X))  # type: ignore[misc]

    def _new(self, X: Any) -> Any:
        check_is_fitted(self, "model_")
        return super()._new(graphs_of(X))  # type: ignore[misc]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        for each in (tags.classifier_tags, tags.regressor_tags):
            if each is not None:
                each.poor_score = True
        return tags


class RowClassifier(OfRows, GraphClassifier):
    pass


class RowRegressor(OfRows, GraphRegressor):
    pass


def checks() -> Iterator[Any]:
    for kind in (RowClassifier, RowRegressor):
        seen: dict[str, int] = {}
        for estimator, check in estimator_checks_generator(kind(**SMALL), mark=None):
            name = check.func.__name__
            seen[name] = seen.get(name, 0) + 1
            yield pytest.param(estimator, check, id=f"{kind.__name__}-{name}-{seen[name]}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_what_scikit_learn_asks(estimator: Any, check: Any) -> None:
    name = check.func.__name__
    if name in NOT_OURS:
        pytest.skip(NOT_OURS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_what_is_left_out_is_asked_somewhere() -> None:
    asked = {param.values[1].func.__name__ for param in checks()}
    assert set(NOT_OURS) <= asked
    assert len(asked) > 50
