"""What is saved of an estimator comes back as it was, or is refused before anything is written."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gmpool import GraphClassifier, GraphRegressor
from gmpool.engine.checkpoint import COPY, OURS, WEIGHTS
from gmpool.errors import CheckpointError, UserError, WrongType
from gmpool.estimators.kept import folder_of, hashable, read_again, writable

SMALL: dict[str, Any] = {
    "method": "mean", "members": 1, "epochs": 1, "hidden_dim": 4, "n_jobs": 1, "validation": 0.3,
    "random_state": 0, "split": "random",
}  # fmt: skip
CHAINS = ["C" * n + end for n in range(1, 6) for end in ("O", "N", "F")]
HALVES = [row % 2 for row in range(len(CHAINS))]
LENGTHS = [float(len(text)) for text in CHAINS]


def again(model: Any, folder: Path) -> Any:
    model.save(folder)
    return type(model).load(folder)


def paths(kinds: list[Any], count: int = 8) -> list[nx.Graph]:
    made = []
    for n in range(3, 3 + count):
        graph = nx.path_graph(n)
        kind_of = {v: kinds[(v + n) % len(kinds)] for v in graph}
        nx.set_node_attributes(graph, kind_of, "kind")
        made.append(graph)
    return made


# -- round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "class_weight"),
    [
        (HALVES, {0: 0.5, 1: 2}),
        ([bool(each) for each in HALVES], {False: 1.0, True: 3.0}),
        ([each + 1.0 for each in HALVES], {2.0: 0.5}),
        (HALVES, {np.int64(1): np.float32(0.5)}),
        ([row % 3 for row in range(len(CHAINS))], {2: 5.0}),
        (["a" if each else "b" for each in HALVES], {}),
        (HALVES, "balanced"),
        (HALVES, None),
    ],
)
def test_weights_and_classes_of_any_kind(y: Any, class_weight: Any, tmp_path: Path) -> None:
    model = GraphClassifier(**SMALL, class_weight=class_weight).fit(CHAINS, y)
    found = again(model, tmp_path / "m")
    assert found.class_weight == class_weight
    assert found.classes_.tolist() == model.classes_.tolist()
    assert found.classes_.dtype == model.classes_.dtype
    assert found.get_params() == model.get_params()
    np.testing.assert_allclose(found.predict_proba(CHAINS), model.predict_proba(CHAINS))
    found.fit(CHAINS, y)  # what came back can be learned with


@pytest.mark.parametrize("kinds", [[(1, "a"), (0, "b")], [1.5, 2.0], [True, False], ["a", "b"]])
def test_categories_of_nodes(kinds: list[Any], tmp_path: Path) -> None:
    X = paths(kinds)
    model = GraphRegressor(**SMALL, node_label="kind").fit(X, range(len(X)))
    found = again(model, tmp_path / "m")
    assert found._reads == model._reads
    assert found._reads["node_categories"] == sorted(kinds)
    np.testing.assert_allclose(found.predict(X), model.predict(X))


def test_how_graphs_are_read_is_the_fitted_models(tmp_path: Path) -> None:
    """Whatever its parameters are set to afterwards."""
    X = paths(["a", "b"])
    model = GraphRegressor(**SMALL, node_label="kind").fit(X, range(len(X)))
    expected = model.predict(X)
    found = again(model.set_params(node_label=None), tmp_path / "m")
    assert found.node_label is None
    np.testing.assert_allclose(found.predict(X), expected)


def test_a_score_that_is_no_number(tmp_path: Path) -> None:
    model = GraphRegressor(**SMALL).fit(CHAINS, LENGTHS)
    model.validation_score_ = math.nan
    found = again(model, tmp_path / "m")
    assert math.isnan(found.validation_score_)
    model.validation_score_ = 0.25
    assert again(model, tmp_path / "m").validation_score_ == 0.25


def test_parameters_that_json_has_no_words_for(tmp_path: Path) -> None:
    options = {
        **SMALL,
        "device": torch.device("cpu"),
        "random_state": np.random.RandomState(0),
        "epochs": np.int64(1),
        "hidden_dim": np.int32(4),
        "validation": np.float64(0.3),
        "n_jobs": np.int64(1),
        "verbose": np.bool_(False),
    }
    model = GraphRegressor(**options).fit(CHAINS, LENGTHS)
    found = again(model, tmp_path / "m")
    expected = {**model.get_params(), "device": "cpu", "random_state": None}
    assert found.get_params() == expected
    assert type(found.get_params()["hidden_dim"]) is int
    model.set_params(random_state=np.int64(7))
    assert again(model, tmp_path / "m").random_state == 7


def test_whether_y_had_a_column(tmp_path: Path) -> None:
    for y, shape in ((LENGTHS, (15,)), (pd.DataFrame({"a": LENGTHS}), (15, 1))):
        model = GraphRegressor(**SMALL).fit(CHAINS, y)
        found = again(model, tmp_path / "m")
        assert found.predict(CHAINS).shape == model.predict(CHAINS).shape == shape
        assert found.label_names_ == model.label_names_


# -- what cannot be kept --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "options", "what"),
    [
        (
            pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * 5)).astype("M8[ns]"),
            {},
            "classes",
        ),
        ([b"a", b"b"] * 5, {}, "classes"),
        ([Decimal(1), Decimal(2)] * 5, {}, "classes"),
        ([0, 1] * 5, {"class_weight": {0: Fraction(1, 2)}}, "class_weight"),
        ([0, 1] * 5, {"validation": Fraction(3, 10)}, "params"),
    ],
)
def test_nothing_is_written_of_what_a_file_cannot_hold(
    y: Any, options: Any, what: str, tmp_path: Path
) -> None:
    model = GraphClassifier(**{**SMALL, **options}).fit(CHAINS[:10], y)
    sentence = f"^a file cannot hold the {what} of this estimator .*give words or numbers, or keep"
    with pytest.raises(CheckpointError, match=sentence):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    assert set(model.predict(CHAINS)) <= set(model.classes_)  # it is of use all the same


def test_what_was_saved_before_stays(tmp_path: Path) -> None:
    X = paths([b"a", b"b"])
    model = GraphRegressor(**SMALL, node_label="kind").fit(X, range(len(X)))
    GraphRegressor(**SMALL).fit(CHAINS, LENGTHS).save(tmp_path)
    before = (tmp_path / WEIGHTS).read_bytes()
    with pytest.raises(CheckpointError, match="cannot hold the reads"):
        model.save(tmp_path)
    assert (tmp_path / WEIGHTS).read_bytes() == before


@pytest.mark.parametrize("value", [math.nan, {1, 2}, object(), {"a": [math.inf]}, {(1, 2): 3}])
def test_what_json_cannot_hold_is_named(value: Any) -> None:
    assert writable({"a": [1, None, "b"]}) == {"a": [1, None, "b"]}
    with pytest.raises(CheckpointError, match=r"^a file cannot hold the b of this estimator"):
        writable({"a": 1, "b": value})


# -- folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [3, None, b"m", ["m"]])
def test_a_folder_that_is_no_path(folder: Any) -> None:
    model = GraphRegressor(**SMALL).fit(CHAINS, LENGTHS)
    sentence = f"^the folder of a model is a path, got {type(folder).__name__}$"
    with pytest.raises(WrongType, match=sentence):
        model.save(folder)
    with pytest.raises(WrongType, match=sentence):
        GraphRegressor.load(folder)


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"^the folder of a model is empty; give its path"):
        GraphRegressor(**SMALL).fit(CHAINS, LENGTHS).save("")
    assert not [*tmp_path.iterdir()]
    assert folder_of("m") == folder_of(Path("m")) == Path("m")
    with pytest.raises(CheckpointError, match=f"is not a saved model: {WEIGHTS} is missing"):
        GraphRegressor.load(tmp_path / "none")


# -- damaged descriptions -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    GraphClassifier(**SMALL, class_weight={0: 2.0}).fit(CHAINS, HALVES).save(folder)
    return folder


def damaged(saved: Path, folder: Path, damage: Callable[[dict[str, Any]], Any]) -> Path:
    """Weights and digest are untouched."""
    with safe_open(saved / WEIGHTS, "pt") as file:
        description = json.loads(file.metadata()[OURS])
    damage(description["about"])
    save_file(load_file(saved / WEIGHTS), folder / WEIGHTS, {OURS: json.dumps(description)})
    (folder / COPY).write_text("{}")
    return folder


def test_what_is_not_damaged_is_read(saved: Path, tmp_path: Path) -> None:
    found = GraphClassifier.load(damaged(saved, tmp_path, lambda about: None))
    assert found.class_weight == {0: 2.0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("params", None), ("params", []), ("params", {"hiden_dim": 3}),
        ("reads", 3), ("reads", {"node_label": None}), ("reads", None), ("label_names", 3),
        ("validation_score", "high"), ("validation_score", []), ("classes", "ab"), ("classes", [1]),
        ("classes", [[0, 1], [2]]), ("classes", [0, 1, 2]), ("classes", None), ("class_weight", 3),
        ("class_weight", [[1]]), ("class_weight", [[[1], 2]]),
    ],
)  # fmt: skip
def test_damaged_entries(saved: Path, tmp_path: Path, name: str, value: Any) -> None:
    folder = damaged(saved, tmp_path, lambda about: about["estimator"].update({name: value}))
    with pytest.raises(
        CheckpointError, match=r"says of its estimator cannot be read .*save it again"
    ):
        GraphClassifier.load(folder)


@pytest.mark.parametrize("name", ["params", "reads", "label_names", "validation_score", "classes"])
def test_missing_entries(saved: Path, tmp_path: Path, name: str) -> None:
    folder = damaged(saved, tmp_path, lambda about: about["estimator"].pop(name))
    with pytest.raises(CheckpointError, match="says of its estimator cannot be read"):
        GraphClassifier.load(folder)


@pytest.mark.parametrize("value", [None, 3, [], {}, {"kind": "GraphRegressor"}, "GraphClassifier"])
def test_files_of_another_kind(saved: Path, tmp_path: Path, value: Any) -> None:
    folder = damaged(saved, tmp_path, lambda about: about.update(estimator=value))
    with pytest.raises(
        CheckpointError, match=r"holds .*, not a GraphClassifier; gmpool.load_model"
    ):
        GraphClassifier.load(folder)


# -- smaller parts --------------------------------------------------------------------------------


def test_lists_of_json_are_tuples_again() -> None:
    assert hashable([1, ["a", []], None]) == (1, ("a", ()), None)
    reads = {"node_label": "k", "node_features": None, "node_categories": [[1, 2], "a"]}
    expected = {**reads, "node_categories": [(1, 2), "a"]}
    assert read_again({"reads": reads}) == expected
    older = {"params": {**reads, "members": 1}, "categories": [[1, 2], "a"]}
    assert read_again(older) == expected
