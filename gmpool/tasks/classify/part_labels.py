"""What a row of users' own data says of them: how they were understood, and what is in each part.

    {"understood": ["mine.csv: …", …], "task": "binary", "labels": ["active"], "of": 1,
     "parts": {"train": {"graphs": 963, "labels": [[650, 300, 13]]}, "valid": {…}, "test": {…}}}

Of yes/no labels these are yes, no and gaps; of classes the count of each of "classes" and the gaps;
of numbers how many there are, their mean, deviation, least and most.
"""

from typing import Any

import torch
from torch import Tensor

from gmpool.data import Dataset, Split
from gmpool.plain_text import shortened

MOST_LABELS = 12
MOST_CLASSES = 20
_MOST_LINES, _LONGEST = 20, 400
"""Of what was understood: rows stay small."""


def data_of(dataset: Dataset, split: Split) -> dict[str, Any]:
    graphs = dataset.graphs
    named = {} if graphs.task != "multiclass" else {"classes": [*graphs.class_names[:MOST_CLASSES]]}
    return {
        "understood": [shortened(line, _LONGEST) for line in dataset.understood[:_MOST_LINES]],
        "task": graphs.task,
        "labels": [*graphs.task_names[:MOST_LABELS]],
        "of": len(graphs.task_names),
        **named,
        "parts": {
            part: {"graphs": len(ids), "labels": _labels(dataset, ids.cpu())}
            for part, ids in (("train", split.train), ("valid", split.valid), ("test", split.test))
        },
    }


def _labels(dataset: Dataset, ids: Tensor) -> list[list[float]]:
    graphs = dataset.graphs
    assert graphs.y is not None, "a set with folds has labels"
    y = graphs.y.cpu()[ids]
    if graphs.task == "multiclass":
        counts = torch.bincount(y[y >= 0], minlength=graphs.num_classes).tolist()
        return [[*counts[:MOST_CLASSES], int((y < 0).sum())]]
    count = _answers if graphs.task == "binary" else _numbers
    return [count(column) for column in y[:, :MOST_LABELS].double().unbind(1)]


def _answers(y: Tensor) -> list[float]:
    return [int((y == 1).sum()), int((y == 0).sum()), int(y.isnan().sum())]


def _numbers(y: Tensor) -> list[float]:
    there = y[~y.isnan()]
    if not len(there):
        return [0]
    found = [there.mean(), there.std(correction=0), there.min(), there.max()]
    return [len(there), *(float(f"{float(value):.6g}") for value in found)]
