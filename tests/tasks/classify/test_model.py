from __future__ import annotations

import math

import pytest
import torch
from small_sets import MODEL, TEN_MOLECULES, classes, with_labels

from gmpool.config import ModelConfig
from gmpool.data import PackedGraphs, from_smiles
from gmpool.errors import CheckpointError, DataError
from gmpool.nn.encoder import MoleculeEncoder
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.shape import DataShape

NAN = math.nan


def molecules() -> PackedGraphs:
    return from_smiles(TEN_MOLECULES, torch.tensor([[0.0], [1.0]] * 5), task="binary")


def test_shape_survives_json() -> None:
    for graphs in (classes(), molecules()):
        shape = DataShape.of(graphs)
        assert DataShape.from_json(shape.to_json()) == shape
        assert shape.num_outputs == graphs.num_outputs


def test_a_set_without_labels_cannot_be_trained_on() -> None:
    with pytest.raises(DataError, match="has no labels"):
        DataShape.of(from_smiles(["CC", "CO"]))


def test_molecules_are_read_with_their_bonds() -> None:
    graphs = molecules()
    shape = DataShape.of(graphs)
    assert shape.is_molecular
    assert not DataShape.of(classes()).is_molecular
    model = GraphModel(shape, MODEL)
    assert isinstance(model.network.encoder, MoleculeEncoder)
    assert isinstance(GraphModel(shape, ModelConfig(conv="gin")).network.encoder, MoleculeEncoder)
    # Ethane, ethene and ethyne differ in more than bonds; benzene in two Kekulé forms does not.
    model.eval()
    same = from_smiles(["C1=CC=CC=C1", "c1ccccc1"])
    other = from_smiles(["C1CCCCC1"])
    with torch.no_grad():
        twice, once = model(same.batch([0, 1]))[0], model(other.batch([0]))[0]
    torch.testing.assert_close(twice[0], twice[1])
    assert not torch.allclose(twice[0], once[0])


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
    assert model.loss(scaled.nan_to_num(7.0), 10 * y).item() == 0.0


def test_logits_are_not_rescaled() -> None:
    graphs = molecules()
    model = GraphModel(DataShape.of(graphs), MODEL)
    model.fit_target_scale(graphs.y)
    assert model.target_std.tolist() == [1.0]
    out = torch.tensor([[2.5]])
    assert model.in_label_units(out) is out


def test_every_parameter_is_counted_and_learns() -> None:
    graphs = classes()
    model = GraphModel(DataShape.of(graphs), ModelConfig(hidden_dim=8, num_layers=2, dropout=0.0))
    assert model.num_parameters == sum(p.numel() for p in model.parameters())
    out, _ = model(graphs.batch(range(24)))
    model.loss(out, graphs.y).backward()
    still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # A shift of all keys of a head cancels in a softmax over nodes: those have no gradient.
    assert all("key" in name or "query" in name for name in still), still


def test_other_features_do_not_fit() -> None:
    shape = DataShape.of(classes())
    graphs = classes()
    assert shape.fit(graphs) is graphs
    with pytest.raises(CheckpointError, match=r"num_features = 3, but .* has \d+; predict on data"):
        shape.fit(molecules())


def test_categories_are_numbered_as_the_model_has_them() -> None:
    """A new folder may lack the smallest or the largest label of the training set."""

    def labelled(*labels: int) -> PackedGraphs:
        start = min(labels)
        cat = torch.tensor([[v - start] for v in labels], dtype=torch.uint8)
        return PackedGraphs(
            name="new",
            node_ptr=torch.tensor([0, len(labels)]),
            row_ptr=torch.zeros(len(labels) + 1, dtype=torch.long),
            col=torch.empty(0, dtype=torch.uint8),
            node_cat=cat,
            cat_sizes=(max(labels) - start + 1,),
            cat_starts=(start,) if start else (),
            y=torch.zeros(1, dtype=torch.long),
            task="multiclass",
            class_names=("0",),
        )

    shape = DataShape.of(labelled(3, 4, 5, 6))
    fitted = shape.fit(labelled(5, 4))
    assert fitted.batch([0]).x.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    with pytest.raises(DataError, match=r"node 2 has category 7 .* \(it knows 3 … 6\)"):
        shape.fit(labelled(5, 7))
    with pytest.raises(DataError, match=r"node 1 has category 0 "):
        shape.fit(labelled(0, 3))
