"""What a classifier and a regressor have in common, once they are fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from gmpool import GraphClassifier, GraphRegressor
from gmpool.data import from_smiles
from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.processes import Processes
from gmpool.errors import UserError
from gmpool.estimators import graph_estimator
from gmpool.estimators.graph_estimator import seed_of
from gmpool.estimators.ways import executor_for

SMALL: dict[str, Any] = {
    "method": "mean", "members": 2, "epochs": 1, "hidden_dim": 4, "n_jobs": 1, "validation": 0.3,
    "random_state": 0, "split": "random",
}  # fmt: skip
CHAINS = ["C" * n + end for n in range(1, 7) for end in ("O", "N", "F")]
HALVES = ["ab"[row % 2] for row in range(len(CHAINS))]
LENGTHS = [float(len(text)) for text in CHAINS]


@pytest.fixture
def fitted() -> GraphClassifier:
    return GraphClassifier(**SMALL).fit(CHAINS, HALVES)


def state_of(model: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(model).items() if name.endswith("_")} | {
        "_reads": model._reads
    }


@pytest.mark.parametrize(
    ("X", "y", "more", "params"),
    [
        (["CC", "C("], ["x", "y"], {}, {}),
        (CHAINS, [1] * len(CHAINS), {}, {}),
        (CHAINS, HALVES, {"sample_weight": [-1.0] * len(CHAINS)}, {}),
        (CHAINS, HALVES, {}, {"class_weight": {"z": 1.0}}),
        (CHAINS, HALVES, {}, {"n_jobs": 0}),
        (CHAINS, HALVES, {}, {"validation": 2.0}),
        (CHAINS, HALVES, {}, {"lr": -1.0}),
        (CHAINS, HALVES, {}, {"device": "tpu"}),
    ],
)
def test_a_fit_that_fails_leaves_what_was_there(
    fitted: GraphClassifier, X: Any, y: Any, more: Any, params: Any
) -> None:
    before, p = state_of(fitted), fitted.predict_proba(CHAINS)
    device = fitted.device
    with pytest.raises(UserError):
        fitted.set_params(**params).fit(X, y, **more)
    after = state_of(fitted)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(fitted.set_params(device=device).predict_proba(CHAINS), p)


def test_training_that_fails_leaves_what_was_there(
    fitted: GraphClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, threads = state_of(fitted), torch.get_num_threads()

    def stopped(self: Any, *args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(graph_estimator.Ensembles, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(CHAINS, [row % 3 for row in range(len(CHAINS))])
    assert all(state_of(fitted)[name] is value for name, value in before.items())
    assert fitted.classes_.tolist() == ["a", "b"]
    assert torch.get_num_threads() == threads


def test_the_first_fit_that_fails_leaves_nothing() -> None:
    model = GraphRegressor(**SMALL)
    with pytest.raises(UserError):
        model.fit(CHAINS, ["x"] * len(CHAINS))
    with pytest.raises(NotFittedError):
        model.predict(CHAINS)


def test_vectors_have_names(fitted: GraphClassifier) -> None:
    vectors = fitted.transform(CHAINS)
    names = fitted.get_feature_names_out()
    assert names.tolist() == [f"graphclassifier{i}" for i in range(vectors.shape[1])]
    X = pd.DataFrame({"smiles": CHAINS}, index=range(10, 10 + len(CHAINS)))
    table = fitted.set_output(transform="pandas").transform(X)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == names.tolist()
    assert table.index.tolist() == X.index.tolist()
    np.testing.assert_array_equal(table.to_numpy(), vectors)
    plain = fitted.set_output(transform="default").transform(CHAINS)
    assert isinstance(plain, np.ndarray)


def test_names_of_vectors_are_known_after_a_fit() -> None:
    with pytest.raises(NotFittedError):
        GraphRegressor().get_feature_names_out()


@pytest.fixture
def no_worker_left() -> Iterator[None]:
    """joblib keeps its processes for who asks next."""
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.slow
@pytest.mark.usefixtures("no_worker_left")
def test_a_search_in_processes_trains_members_in_each() -> None:
    """Whose processes have none of their own, and find what one process alone finds."""
    model = GraphRegressor(**{**SMALL, "n_jobs": 2})
    search = GridSearchCV(model, {"hidden_dim": [4]}, cv=2, n_jobs=2, error_score="raise")
    search.fit(CHAINS, LENGTHS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert Parallel(n_jobs=2)([delayed(executor_for)("cpu", 2, 2)]) == [Alone("cpu")]
    assert executor_for("cpu", 2, 2) == Processes(2)
    half = len(CHAINS) // 2
    one = GraphRegressor(**SMALL).fit(CHAINS[half:], LENGTHS[half:])
    expected = one.score(CHAINS[:half], LENGTHS[:half])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected, rel=1e-4)


def test_graphs_of_no_weight_are_as_if_they_were_not_there() -> None:
    weight = [float(row < 12) for row in range(len(CHAINS))]
    some = GraphRegressor(**SMALL).fit(CHAINS, LENGTHS, sample_weight=weight)
    less = GraphRegressor(**SMALL).fit(CHAINS[:12], LENGTHS[:12])
    np.testing.assert_allclose(some.predict(CHAINS), less.predict(CHAINS), rtol=1e-5)
    with pytest.raises(UserError, match="X has 2 sample"):
        less.fit(CHAINS, LENGTHS, sample_weight=[1, 1] + [0] * (len(CHAINS) - 2))


def test_only_proportions_of_weights_count() -> None:
    weight = np.linspace(0.1, 1, len(CHAINS))
    one, other = (
        GraphRegressor(**SMALL).fit(CHAINS, LENGTHS, sample_weight=factor * weight)
        for factor in (1, 1e30)
    )
    np.testing.assert_allclose(one.predict(CHAINS), other.predict(CHAINS), rtol=1e-5)


def test_labels_that_packed_graphs_bring_along_do_not_count() -> None:
    packed = from_smiles(CHAINS, LENGTHS[::-1])
    one, other = (GraphRegressor(**SMALL).fit(X, LENGTHS) for X in (packed, CHAINS))
    np.testing.assert_allclose(one.predict(CHAINS), other.predict(CHAINS), rtol=1e-5)


def test_it_tells_of_members_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    GraphRegressor(**SMALL).fit(CHAINS, LENGTHS)
    assert capsys.readouterr() == ("", "")
    GraphRegressor(**SMALL, verbose=True).fit(CHAINS, LENGTHS)
    out, told = capsys.readouterr()
    assert out == ""
    assert "member 1 of 2" in told
    assert "member 2 of 2" in told


@pytest.mark.parametrize("given", ["x", -1, 1.5, 2**32])
def test_what_is_no_random_state(given: Any) -> None:
    sentence = "^random_state is a number from 0 to .*, a RandomState or None, got "
    with pytest.raises(UserError, match=sentence):
        seed_of(given)


def test_seeds() -> None:
    assert seed_of(3) == seed_of(np.int64(3)) == seed_of(np.random.RandomState(3)) != seed_of(4)
    state = np.random.RandomState(0)
    assert seed_of(state) != seed_of(state)  # a fit more is another fit
    assert 0 <= seed_of(None) < 2**31
