from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_sets import MODEL, TEN_MOLECULES, classes, with_labels
from trainings import as_set

from gmpool.data import PackedGraphs, from_smiles, graph_rows
from gmpool.data.pack import pack
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import predict, prediction_columns, predictions
from gmpool.tasks.shape import DataShape


def test_class_probabilities() -> None:
    graphs = classes()
    model = GraphModel(DataShape.of(graphs), replace(MODEL, dropout=0.5))
    model.train()  # predict must not let dropout act
    scores = predict(model, graphs, batch_size=5)
    assert scores.shape == (24, 2)
    torch.testing.assert_close(scores.sum(1), torch.ones(24))
    torch.testing.assert_close(scores, predict(model, graphs, batch_size=24))
    assert prediction_columns(model.shape) == {"pred_y0": str, "p_0": float, "p_1": float}


def test_probability_of_yes_for_each_task() -> None:
    graphs = from_smiles(TEN_MOLECULES, torch.zeros(10, 2), task="binary")
    model = GraphModel(DataShape.of(graphs), MODEL).eval()
    scores = predict(model, graphs)
    with torch.no_grad():
        logits = model(graphs.batch(range(10)))[0]
    torch.testing.assert_close(scores, logits.sigmoid())
    names = graphs.task_names
    assert list(prediction_columns(model.shape)) == [f"p_{name}" for name in names]
    assert len(names) == 2


def test_regression_is_in_label_units() -> None:
    graphs = with_labels(100 + torch.arange(24.0).unsqueeze(1), "regression")
    model = GraphModel(DataShape.of(graphs), MODEL).eval()
    model.begin(as_set(graphs), torch.arange(24))
    with torch.no_grad():
        out = model(graphs.batch(range(24)))[0]
    expected = out * graphs.y.std(correction=0) + graphs.y.mean()
    torch.testing.assert_close(predict(model, graphs), expected)
    assert list(prediction_columns(model.shape)) == [f"pred_{name}" for name in graphs.task_names]


def test_only_the_graphs_with_a_category_that_the_model_has_not_seen_have_no_prediction() -> None:
    rings = typed_rings([0, 1, 2])
    model = GraphModel(DataShape.of(rings), MODEL)
    new = replace(typed_rings([0, 5, 1, 6]), y=None, task=None, class_names=(), task_names=())
    made = predictions(model, new)
    cells = [row.cells for row in made.rows]
    assert [row[0] for row in cells] == ["0", "1", "2", "3"]
    seen = predict(model, rings)[:2].tolist()
    assert [cells[0][2:-1], cells[2][2:-1]] == [pytest.approx(row) for row in seen]
    assert cells[1][1:-1] == [None] * (len(made.columns) - 2)
    assert cells[1][-1] == (
        "node 1 has category 5 in column 1, which the model has not seen (it knows 0 … 2)"
    )
    assert "category 6" in str(cells[3][-1])


def typed_rings(types: list[int]) -> PackedGraphs:
    """A ring of three nodes for each type, which its nodes have; labels are 0 and 1 in turn."""
    edges = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    each = torch.arange(len(types)).repeat_interleave(6) * 3
    source, target = edges.repeat(1, len(types)) + each
    return pack(
        name="rings",
        sizes=torch.full((len(types),), 3),
        source=source,
        target=target,
        node_cat=torch.tensor(types).repeat_interleave(3)[:, None],
        cat_sizes=(max(types) + 1,),
        y=torch.arange(len(types)) % 2,
        task="multiclass",
        class_names=("no", "yes"),
        task_names=("label",),
    )


def test_an_answer_that_is_no_number_is_a_problem() -> None:
    graphs = classes()
    model = GraphModel(DataShape.of(graphs), MODEL)
    with torch.no_grad():
        next(model.head.parameters()).fill_(float("nan"))
    row = next(predictions(model, graphs).rows)
    assert row.problem == "the model's answer is not a finite number"
    assert row.cells[1:-1] == [None, None, None]


@pytest.mark.parametrize("most", [1, 4])
def test_parts_predict_what_the_whole_does(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_rows, "PART_ROWS", most)
    graphs = from_smiles(TEN_MOLECULES, torch.zeros(10, 2), task="binary")
    model = GraphModel(DataShape.of(graphs), MODEL)
    given = [TEN_MOLECULES[0], "?", *TEN_MOLECULES[1:]]
    rows = list(predictions(model, given).rows)
    assert [row.cells[0] for row in rows] == given
    found = torch.tensor([row.cells[1:-1] for row in rows if row.problem is None])
    torch.testing.assert_close(found, predict(model, graphs))
