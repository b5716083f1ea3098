"""A trained model on new graphs."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gmpool.data import CATALOGUE, PackedGraphs, epoch_batches, load, load_table, read_tu
from gmpool.data.sources.table import SUFFIXES
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.graph_task import refuse_table_options
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
    graphs, skipped = new_graphs(source, root, **options)
    scores = predict(model.to(device), graphs.to(device)).cpu()
    names = graphs.graph_names or [str(i) for i in range(graphs.num_graphs)]
    classes = model.shape.class_names if model.shape.task == "multiclass" else ()

    rows = []
    for name, row in zip(names, scores.tolist(), strict=True):
        best = [classes[row.index(max(row))]] if classes else []
        rows.append([name, *best, *(f"{value:.6g}" for value in row)])
    columns = ["graph", *(["class"] if classes else []), *prediction_columns(model)]
    return Predictions(columns, rows, skipped)


def new_graphs(
    source: str, root: Path | None, **options: Any
) -> tuple[PackedGraphs, tuple[str, ...]]:
    """Graphs to predict on, and the rows of a table left out."""
    given = {key: value for key, value in options.items() if value}
    if source.endswith(SUFFIXES):
        dataset = load_table(source, label_columns=(), **given)
        return dataset.graphs, dataset.skipped
    refuse_table_options(source, given)
    if source not in CATALOGUE and (Path(source).is_dir() or source.endswith(".zip")):
        return read_tu(source, labelled=False), ()
    return load(source, root).graphs, ()
