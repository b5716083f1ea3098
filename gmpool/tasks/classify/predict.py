"""A trained model on new graphs."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gmpool.data import PackedGraphs, epoch_batches, load
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.task import Predictions


@torch.no_grad()
def predict(model: GraphModel, graphs: PackedGraphs, *, batch_size: int = 256) -> Tensor:
    """Probabilities per class [G, C], probabilities of yes [G, T], or values [G, T]."""
    graphs = model.shape.fit(graphs)
    model.eval()
    ids = torch.arange(graphs.num_graphs)
    outs = [model(batch)[0] for batch in epoch_batches(graphs, ids, batch_size)]
    out = torch.cat(outs) if outs else torch.empty(0, model.shape.num_outputs)
    if model.shape.task == "multiclass":
        return out.softmax(1)
    if model.shape.task == "binary":
        return out.sigmoid()
    return model.in_label_units(out)


def prediction_columns(model: GraphModel) -> list[str]:
    """The names of predict's columns."""
    shape = model.shape
    if shape.task == "multiclass":
        return [f"p_{name}" for name in shape.class_names]
    names = shape.task_names or tuple(f"task_{i}" for i in range(shape.num_outputs))
    return [f"p_{name}" if shape.task == "binary" else name for name in names]


def predictions(
    model: GraphModel, source: str, root: Path | None = None, *, device: str = "cpu", **options: Any
) -> Predictions:
    """Of the graphs of a name or path, whose labels are not read; the most likely class first where
    there are classes."""
    dataset = load(source, root, label_columns=(), labelled=False, **options)
    graphs = dataset.graphs
    scores = predict(model.to(device), graphs.to(device)).cpu()
    names = graphs.graph_names or [str(i) for i in range(graphs.num_graphs)]
    classes = model.shape.class_names if model.shape.task == "multiclass" else ()

    rows = []
    for name, row in zip(names, scores.tolist(), strict=True):
        best = [classes[row.index(max(row))]] if classes else []
        rows.append([name, *best, *(f"{value:.6g}" for value in row)])
    columns = ["graph", *(["class"] if classes else []), *prediction_columns(model)]
    return Predictions(columns, rows, dataset.skipped)
