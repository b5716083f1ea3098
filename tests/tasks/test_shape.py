"""What a model knows of its data, and which graphs fit it."""

from __future__ import annotations

import pytest
import torch
from small_sets import TEN_MOLECULES, classes

from gmpool.data import PackedGraphs, from_smiles
from gmpool.errors import CheckpointError, DataError
from gmpool.tasks.shape import DataShape


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
