"""What a column of labels means: classes, yes/no answers, or numbers."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gmpool.data.packed_fields import Task
from gmpool.errors import DataError, unknown

MAX_CLASSES = 20
TASKS: tuple[Task, ...] = ("multiclass", "binary", "regression")


def infer_task(values: NDArray[np.float64]) -> Task:
    """The task of float columns [G, T], NaN = missing.

    All values 0 or 1: "binary". One column without gaps whose values are exactly 0..C-1 or 1..C,
    C at most 20: "multiclass". Anything else: "regression".
    """
    task = answers_or_numbers(values)
    if task == "regression" and values.shape[1] == 1 and not np.isnan(values).any():
        found = np.unique(values)
        from_zero = np.array_equal(found, np.arange(len(found)))
        from_one = np.array_equal(found, np.arange(1, len(found) + 1))
        if len(found) <= MAX_CLASSES and (from_zero or from_one):
            return "multiclass"
    return task


def answers_or_numbers(values: NDArray[np.float64]) -> Task:
    """All values 0, 1 or NaN: "binary"; else "regression"."""
    answers = np.isin(values[~np.isnan(values)], (0.0, 1.0)).all()
    return "binary" if answers else "regression"


def check_task(task: str | None) -> None:
    if task is not None and task not in TASKS:
        raise unknown("task", task, TASKS)


def label_fields(
    values: NDArray[np.float64], names: tuple[str, ...], task: Task | None, where: str
) -> dict[str, Any]:
    """The fields y, task, class_names, task_names of PackedGraphs, from numeric labels [G, T]."""
    check_task(task)
    task = task or infer_task(values)
    if task == "multiclass":
        if values.shape[1] != 1:
            raise DataError(f"{where}: multiclass needs one label column (got {len(names)})")
        if np.isnan(values).any():
            row = int(np.isnan(values).argmax())
            raise DataError(f"{where}: graph {row} has no label; multiclass needs one for each")
        found, inverse = np.unique(values, return_inverse=True)
        classes = tuple(f"{v:g}" for v in found)
        y = torch.from_numpy(inverse.reshape(-1))
    else:
        if task == "binary":
            bad = ~(np.isnan(values) | np.isin(values, (0.0, 1.0)))
            if bad.any():
                row, column = np.argwhere(bad)[0]
                raise DataError(
                    f"{where}: graph {row}, {names[column]}: label {values[row, column]:g} "
                    "is not 0, 1 or missing"
                )
        y, classes = torch.from_numpy(values.astype(np.float32)), ()
    return {"y": y, "task": task, "class_names": classes, "task_names": names}


def class_fields(values: list[str], name: str) -> dict[str, Any]:
    """The same fields from one column of words; classes are in alphabetical order."""
    classes = sorted(set(values))
    number = {word: i for i, word in enumerate(classes)}
    y = torch.tensor([number[word] for word in values], dtype=torch.int64)
    return {"y": y, "task": "multiclass", "class_names": tuple(classes), "task_names": (name,)}
