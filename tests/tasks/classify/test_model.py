from __future__ import annotations

import math

import torch
from small_sets import MODEL, TEN_MOLECULES, classes, with_labels
from trainings import as_set

from gmpool.data import PackedGraphs, from_smiles
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.shape import DataShape

NAN = math.nan


def molecules() -> PackedGraphs:
    return from_smiles(TEN_MOLECULES, torch.tensor([[0.0], [1.0]] * 5), task="binary")


def test_predictions_do_not_depend_on_the_batch() -> None:
    graphs = classes()
    model = GraphModel(DataShape.of(graphs), MODEL).eval()
    with torch.no_grad():
        together = model(graphs.batch(range(24)))[0]
        alone = torch.cat([model(graphs.batch([i]))[0] for i in range(24)])
    assert together.shape == (24, 2)
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_target_scale_is_taken_from_known_labels() -> None:
    y = torch.tensor([[1.0, 5.0, NAN], [3.0, 5.0, NAN], [NAN, 5.0, NAN]])
    graphs = with_labels(torch.cat([y] * 8), "regression")
    model = GraphModel(DataShape.of(graphs), MODEL)
    model.fit_target_scale(y)
    assert model.target_mean.tolist() == [2.0, 5.0, 0.0]
    assert model.target_std.tolist() == [1.0, 1.0, 1.0], "a constant column is not divided by 0"
    model.fit_target_scale(10 * y)
    out = torch.tensor([[1.0, 0.0, 2.0]])
    assert model.in_label_units(out).tolist() == [[30.0, 50.0, 2.0]]
    # At exactly the labels the loss is zero, whatever is missing.
    scaled = (10 * y - model.target_mean) / model.target_std
    assert model.distance(scaled.nan_to_num(7.0), 10 * y).item() == 0.0


def test_the_scale_is_that_of_the_training_part() -> None:
    graphs = with_labels(torch.arange(24.0)[:, None], "regression")
    model = GraphModel(DataShape.of(graphs), MODEL)
    assert model.begins_by_split
    model.begin(as_set(graphs), torch.tensor([3, 7]))
    assert (model.target_mean.tolist(), model.target_std.tolist()) == ([5.0], [2.0])


def test_logits_are_not_rescaled() -> None:
    graphs = molecules()
    model = GraphModel(DataShape.of(graphs), MODEL)
    model.begin(as_set(graphs), torch.arange(10))
    assert not model.begins_by_split
    assert model.target_std.tolist() == [1.0]
    out = torch.tensor([[2.5]])
    assert model.in_label_units(out) is out


def test_every_parameter_is_counted_and_learns() -> None:
    graphs = classes()
    model = GraphModel(DataShape.of(graphs), ModelConfig(hidden_dim=8, num_layers=2, dropout=0.0))
    assert model.num_parameters == sum(p.numel() for p in model.parameters())
    model.loss(graphs.batch(range(24)), *model.phases).backward()
    still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # A shift of all keys of a head cancels in a softmax over nodes: those have no gradient.
    assert all("key" in name or "query" in name for name in still), still
