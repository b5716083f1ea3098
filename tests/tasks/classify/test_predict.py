from __future__ import annotations

from dataclasses import replace

import torch
from small_sets import MODEL, TEN_MOLECULES, classes, with_labels
from trainings import as_set

from gmpool.data import from_smiles
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import predict, prediction_columns
from gmpool.tasks.shape import DataShape


def test_class_probabilities() -> None:
    graphs = classes()
    model = GraphModel(DataShape.of(graphs), replace(MODEL, dropout=0.5))
    model.train()  # predict must not let dropout act
    scores = predict(model, graphs, batch_size=5)
    assert scores.shape == (24, 2)
    torch.testing.assert_close(scores.sum(1), torch.ones(24))
    torch.testing.assert_close(scores, predict(model, graphs, batch_size=24))
    assert prediction_columns(model) == ["p_0", "p_1"]


def test_probability_of_yes_for_each_task() -> None:
    graphs = from_smiles(TEN_MOLECULES, torch.zeros(10, 2), task="binary")
    model = GraphModel(DataShape.of(graphs), MODEL).eval()
    scores = predict(model, graphs)
    with torch.no_grad():
        logits = model(graphs.batch(range(10)))[0]
    torch.testing.assert_close(scores, logits.sigmoid())
    names = graphs.task_names
    assert prediction_columns(model) == [f"p_{name}" for name in names]
    assert len(names) == 2


def test_regression_is_in_label_units() -> None:
    graphs = with_labels(100 + torch.arange(24.0).unsqueeze(1), "regression")
    model = GraphModel(DataShape.of(graphs), MODEL).eval()
    model.begin(as_set(graphs), torch.arange(24))
    with torch.no_grad():
        out = model(graphs.batch(range(24)))[0]
    expected = out * graphs.y.std(correction=0) + graphs.y.mean()
    torch.testing.assert_close(predict(model, graphs), expected)
    assert prediction_columns(model) == list(graphs.task_names)
