"""Graphs in scikit-learn's words: what X and y may be, and what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from torch_geometric.data import Data

from gmpool import GraphClassifier, GraphRegressor, load_model
from gmpool.data import from_smiles

SMALL = {
    "members": 2, "epochs": 3, "hidden_dim": 8, "state_dim": 8, "num_heads": 1, "n_jobs": 1,
    "validation": 0.3, "random_state": 0,
}  # fmt: skip
CHAINS = ["C" * n + end for n in range(1, 9) for end in ("O", "N", "Cl", "F")]
ALCOHOL = [int(s.endswith("O")) for s in CHAINS]
LENGTH = [float(len(s)) for s in CHAINS]


@pytest.fixture(scope="module")
def classifier() -> GraphClassifier:
    return GraphClassifier(**SMALL).fit(CHAINS, ["yes" if a else "no" for a in ALCOHOL])


@pytest.fixture(scope="module")
def regressor() -> GraphRegressor:
    return GraphRegressor(**SMALL).fit(CHAINS, LENGTH)


def pyg_rings(count: int) -> list[Data]:
    made = []
    for n in range(3, 3 + count):
        ends = torch.arange(n)
        edge = torch.stack([ends, (ends + 1) % n])
        made.append(Data(x=torch.randn(n, 3), edge_index=torch.cat([edge, edge.flip(0)], 1)))
    return made


def test_a_classifier_gives_classes_and_probabilities(classifier: GraphClassifier) -> None:
    assert classifier.classes_.tolist() == ["no", "yes"]
    p, std = classifier.predict_proba(CHAINS, return_std=True)
    assert p.shape == std.shape == (len(CHAINS), 2)
    np.testing.assert_allclose(p.sum(1), 1)
    assert (std >= 0).all()
    assert std.any()  # two members differ
    said = classifier.predict(CHAINS)
    assert (said == classifier.classes_[p.argmax(1)]).all()
    assert classifier.score(CHAINS, ["yes" if a else "no" for a in ALCOHOL]) == pytest.approx(
        np.mean(said == np.where(ALCOHOL, "yes", "no"))
    )


def test_sets_grow_with_coverage(classifier: GraphClassifier) -> None:
    small, large = (classifier.predict_set(CHAINS, c) for c in (0.5, 0.85))
    assert small.shape == (len(CHAINS), 2)
    assert (large | ~small).all()
    with pytest.raises(ValueError, match="promise a coverage of at most"):
        classifier.predict_set(CHAINS, 0.999)


def test_a_regressor_gives_values_deviations_and_intervals(regressor: GraphRegressor) -> None:
    value, std = regressor.predict(CHAINS, return_std=True)
    assert value.shape == std.shape == (len(CHAINS),)
    assert (std > 0).all()
    narrow, wide = (regressor.predict_interval(CHAINS, c) for c in (0.5, 0.85))
    assert narrow.shape == (len(CHAINS), 2)
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 0] <= value).all()
    assert (value <= narrow[:, 1]).all()
    assert (narrow[:, 1] <= wide[:, 1]).all()


def test_what_is_learned_is_learned() -> None:
    """The length of a chain, which a sum over its atoms gives."""
    options = {**SMALL, "epochs": 60, "hidden_dim": 32, "state_dim": 32, "lr": 0.005}
    model = GraphRegressor(**options).fit(CHAINS, LENGTH)
    assert model.score(CHAINS, LENGTH) > 0.9
    assert np.isfinite(model.validation_score_)


def test_several_labels_with_gaps() -> None:
    y = np.stack([ALCOHOL, [float(len(s) > 4) for s in CHAINS]], 1)
    y[::5, 1] = np.nan
    model = GraphClassifier(**SMALL, split="random").fit(
        CHAINS, pd.DataFrame(y, columns=["a", "b"])
    )
    assert model.label_names_ == ["a", "b"]
    assert model.predict_proba(CHAINS).shape == (len(CHAINS), 2)
    assert model.predict_set(CHAINS, 0.5).shape == (len(CHAINS), 2, 2)
    said = model.predict(CHAINS)
    there = ~np.isnan(y)
    assert model.score(CHAINS, y) == pytest.approx((said == y)[there].mean())

    numbers = np.stack([LENGTH, np.array(LENGTH) ** 2], 1)
    numbers[::7, 0] = np.nan
    both = GraphRegressor(**SMALL).fit(CHAINS, numbers)
    assert both.predict(CHAINS).shape == (len(CHAINS), 2)
    assert both.predict_interval(CHAINS, 0.5).shape == (len(CHAINS), 2, 2)
    assert both.score(CHAINS, numbers) <= 1


def test_three_classes() -> None:
    y = [s[-1] for s in CHAINS]
    model = GraphClassifier(**SMALL).fit(CHAINS, y)
    assert model.classes_.tolist() == sorted(set(y))
    assert model.predict_proba(CHAINS).shape == (len(CHAINS), 4)
    assert model.predict_set(CHAINS, 0.5).shape == (len(CHAINS), 4)


@pytest.mark.parametrize("members", [1, 3])
def test_ensembles_by_folds_hold_out_everything(members: int) -> None:
    options = {**SMALL, "members": members}
    if members == 1:
        with pytest.raises(ValueError, match="at least 3 members"):
            GraphRegressor(**options, members_by="folds").fit(CHAINS, LENGTH)
        return
    model = GraphRegressor(**options, members_by="folds").fit(CHAINS, LENGTH)
    assert (model.model_.sure.scores >= 0).sum() == len(CHAINS)
    assert sorted(model.model_.sure.by.unique().tolist()) == [0, 1, 2]
    assert model.predict_interval(CHAINS, 0.9).shape == (len(CHAINS), 2)


def test_pyg_and_networkx_graphs_and_packed_ones() -> None:
    data = pyg_rings(12)
    y = [float(d.num_nodes) for d in data]
    options = {k: v for k, v in SMALL.items() if k != "state_dim"}
    model = GraphRegressor(**options).fit(data, y)
    assert model.predict(data[:3]).shape == (3,)
    graphs = [nx.cycle_graph(n) if n % 2 else nx.path_graph(n) for n in range(3, 15)]
    for number, graph in enumerate(graphs):
        nx.set_node_attributes(graph, {v: "ab"[(v + number) % 2] for v in graph}, "kind")
    words = ["ring" if n % 2 else "chain" for n in range(3, 15)]
    of_nx = GraphClassifier(**options, node_label="kind").fit(graphs, words)
    only_a = nx.path_graph(4)
    nx.set_node_attributes(only_a, "a", "kind")
    assert of_nx.predict([only_a]).shape == (1,)
    nx.set_node_attributes(only_a, "c", "kind")
    with pytest.raises(ValueError, match="'c' is not a known category"):
        of_nx.predict([only_a])
    packed = from_smiles(CHAINS)
    same = GraphRegressor(**SMALL).fit(packed, LENGTH)
    np.testing.assert_allclose(same.predict(packed), same.predict(pd.Series(CHAINS)), rtol=1e-5)


def test_the_same_seed_gives_the_same_model() -> None:
    one, two, other = (
        GraphRegressor(**{**SMALL, "random_state": seed}).fit(CHAINS, LENGTH).predict(CHAINS)
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)


def test_processes_give_what_one_after_the_other_gives() -> None:
    alone, two = (
        GraphRegressor(**{**SMALL, "n_jobs": n}).fit(CHAINS, LENGTH).predict(CHAINS) for n in (1, 2)
    )
    np.testing.assert_allclose(alone, two, rtol=1e-5)


def test_weights_of_graphs_and_of_classes_count() -> None:
    heavy = np.where(ALCOHOL, 1.0, 0.01)
    plain, model = (
        GraphClassifier(**SMALL, lr=0.01).fit(CHAINS, ALCOHOL, sample_weight=weight)
        for weight in (None, heavy)
    )
    raw = [each.model_.members[0].head[-1].bias.item() for each in (plain, model)]
    assert raw[1] > raw[0] + 0.005  # towards yes
    same = GraphClassifier(**SMALL, lr=0.01, class_weight={0: 0.01, 1: 1.0}).fit(CHAINS, ALCOHOL)
    np.testing.assert_allclose(same.predict_proba(CHAINS), model.predict_proba(CHAINS), rtol=1e-5)
    even = GraphClassifier(**SMALL, class_weight="balanced").fit(CHAINS, ALCOHOL)
    assert even.model_.members[0].class_weights.flatten().tolist() != [1.0, 1.0]


def test_it_is_a_part_of_scikit_learn(classifier: GraphClassifier) -> None:
    options = {**SMALL, "members": 1, "epochs": 2}
    search = GridSearchCV(
        GraphClassifier(**options), {"hidden_dim": [4, 8], "dropout": [0.0, 0.3]}, cv=2
    ).fit(CHAINS, ALCOHOL)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.get_params()["hidden_dim"] in (4, 8)
    scores = cross_val_score(GraphRegressor(**options), CHAINS, LENGTH, cv=2)
    assert np.isfinite(scores).all()
    pipe = make_pipeline(GraphClassifier(**options), LogisticRegression())
    assert pipe.fit(CHAINS, ALCOHOL).predict(CHAINS).shape == (len(CHAINS),)
    assert classifier.transform(CHAINS).shape == (len(CHAINS), 2 * 8)


def test_parameters_go_in_and_out_unchanged() -> None:
    model = GraphClassifier("mean", members=3, hidden_dim=16)
    assert model.get_params()["method"] == "mean"
    assert model.get_params()["hidden_dim"] == 16
    copy = clone(model.set_params(hidden_dim=32, epochs=4))
    assert copy.get_params() == model.get_params()
    assert copy is not model
    assert "hidden_dim=32" in repr(copy)


def test_saved_and_loaded(classifier: GraphClassifier, tmp_path: Path, gmpool_cli: Any) -> None:
    classifier.save(tmp_path / "m")
    again = GraphClassifier.load(tmp_path / "m")
    assert again.get_params() == classifier.get_params()
    np.testing.assert_allclose(again.predict_proba(CHAINS), classifier.predict_proba(CHAINS))
    assert again.predict(CHAINS).tolist() == classifier.predict(CHAINS).tolist()
    rows = list(load_model(tmp_path / "m").predict(CHAINS).rows)
    assert len(rows) == len(CHAINS)
    with pytest.raises(ValueError, match="holds GraphClassifier, not a GraphRegressor"):
        GraphRegressor.load(tmp_path / "m")


WRONG: dict[str, tuple[Any, Any, str]] = {
    "no graphs": ([], [], "at least one graph"),
    "a text": ("CCO", [1], "X is a list"),
    "numbers": ([[1.0, 2.0], [3.0, 4.0]], [0, 1], "got list as its first entry"),
    "a bad SMILES": (["CCO", "C(", "CC"], [0, 1, 0], "row 1.*C\\("),
    "too few graphs": (["CC", "CO"], [0, 1], "too few to learn from"),
    "too few labels": (["CC", "CO", "CN"], [0, 1], "2 rows for 3 graphs"),
    "one class": (["CC", "CO", "CN"], [1, 1, 1], "one class only"),
    "a class that is missing": (["CC", "CO", "CN"], [1, None, 0], "row 1: no class"),
    "numbers for classes": (["CC", "CO", "CN"], [0.5, 1.5, 0.25], "take GraphRegressor"),
    "no labels": (["CC", "CO", "CN"], None, "the target y is None"),
    "labels of three axes": (["CC", "CO", "CN"], np.zeros((3, 1, 1)), "got shape"),
    "labels that are not 0 or 1": (["CC", "CO", "CN"], [[0, 2], [1, 0], [0, 1]], "row 0, column 1"),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_input_to_a_classifier_is_a_value_error_with_a_sentence(what: str) -> None:
    X, y, sentence = WRONG[what]
    with pytest.raises(ValueError, match=sentence):
        GraphClassifier(**SMALL).fit(X, y)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (["a", "b", "c", "d"], "y must hold numbers"),
        ([1.0, np.inf, 2.0, 3.0], "row 1, column 0: inf"),
        ([np.nan] * 4, "no label at all"),
    ],
)
def test_bad_labels_of_a_regressor(y: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        GraphRegressor(**SMALL).fit(CHAINS[:4], y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ratoi": 0.3}, "unknown option 'ratoi'; did you mean 'ratio'"),
        ({"method": "gtm"}, "unknown method 'gtm'; did you mean 'gmt'"),
        ({"validation": 1.5}, "between 0 and 1"),
        ({"split": "scafold"}, "did you mean 'scaffold'"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"members": 0}, "members must be at least 1"),
        ({"device": "tpu"}, "device takes cpu, cuda or auto, got 'tpu'"),
        ({"method": "wl-svm"}, "learns no weights"),
        ({"class_weight": {7: 1.0}}, "7, which is no class"),
        ({"class_weight": "even"}, "unknown class_weight 'even'"),
        ({"node_label": "kind"}, "X is SMILES"),
        ({"lr": -1.0}, "lr must be positive"),
    ],
)
def test_bad_options_are_value_errors_with_a_sentence(options: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        GraphClassifier(**{**SMALL, **options}).fit(CHAINS, ALCOHOL)


def test_bad_weights() -> None:
    for weight, sentence in (([1.0] * 3, "sample_weight has shape"), ([-1.0] * 32, "0 or more")):
        with pytest.raises(ValueError, match=sentence):
            GraphClassifier(**SMALL).fit(CHAINS, ALCOHOL, sample_weight=weight)


def test_before_a_fit() -> None:
    with pytest.raises(NotFittedError):
        GraphClassifier().predict(CHAINS)
    with pytest.raises(NotFittedError):
        GraphRegressor().save("m")
