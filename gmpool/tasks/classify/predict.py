"""A trained model on new graphs."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from gmpool.atomic_files import PathLike
from gmpool.data import PackedGraphs
from gmpool.data.graph_rows import Part, graph_rows
from gmpool.data.packed import unseen_categories
from gmpool.tasks.classify.ensemble import BATCH, Ensemble, say
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.predictions import Answer, Predictions, Value
from gmpool.tasks.shape import DataShape


def predict(
    model: GraphModel | Ensemble, graphs: PackedGraphs, *, batch_size: int = BATCH
) -> Tensor:
    """Probabilities per class [G, C], probabilities of yes [G, T], or values [G, T]: calibrated
    where a model is, and of several members the mean."""
    said = say(model, model.prepared(graphs), batch_size=batch_size)
    value = model.sure.answer(said).value if isinstance(model, Ensemble) else said[0]
    return torch.from_numpy(value).float()


def prediction_columns(shape: DataShape) -> dict[str, type]:
    """pred_NAME is the most likely class or the value of a label, p_NAME the probability of a class
    or of yes."""
    if shape.task == "multiclass":
        label = shape.task_names[0] if shape.task_names else "class"
        return {f"pred_{label}": str, **{f"p_{name}": float for name in shape.class_names}}
    names = shape.task_names or tuple(f"task_{i}" for i in range(shape.num_outputs))
    return {f"{'p' if shape.task == 'binary' else 'pred'}_{name}": float for name in names}


def predictions(
    model: GraphModel,
    source: Any,
    root: PathLike | None = None,
    *,
    device: str = "cpu",
    **options: Any,
) -> Predictions:
    """Of what :func:`gmpool.data.graph_rows.graph_rows` takes, with its options. Graphs of another
    kind than the model's are an error here, before the first row."""
    given = graph_rows(source, root, **options)
    model.shape.fit(given.like)
    answers = _answers(model.to(device), given.parts, device)
    return Predictions.beside(given.columns, prediction_columns(model.shape), answers, given.total)


def _answers(model: GraphModel, parts: Iterable[Part], device: str) -> Iterator[Answer]:
    shape = model.shape
    for part in parts:
        unseen = unseen_categories(part.graphs, shape.cat_sizes, shape.cat_starts)
        seen = [i for i in range(part.graphs.num_graphs) if i not in unseen]
        graphs = part.graphs.select(seen) if unseen else part.graphs
        scores = dict(zip(seen, predict(model, graphs.to(device)).tolist(), strict=True))
        number = 0  # of the graph
        for row, place, problem in zip(part.rows, part.places, part.problems, strict=True):
            values = None
            if problem is None:
                problem = unseen.get(number)
                values = _values(shape, scores[number]) if problem is None else None
                number += 1
                if problem is None and values is None:
                    problem = "the model's answer is not a finite number"
            yield Answer(row, place, values, problem)


def _values(shape: DataShape, scores: list[float]) -> list[Value] | None:
    if not all(map(math.isfinite, scores)):
        return None
    best = [shape.class_names[scores.index(max(scores))]] if shape.task == "multiclass" else []
    return [*best, *scores]
