"""Every score of each label column by itself, in its own unit, and why one is not defined.

In a row they stand column by column, which keeps rows small where there are hundreds of labels:

    {"labels": ["logP", "pKa"],
     "test": {"count": [12, 0], "rmse": [0.5, None], …,
              "undefined": {"pKa": {"rmse": "no label in the test part", …}}}, "valid": {…}}
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from gmpool.report.column_scores import column_scores, wanted_scores
from gmpool.tasks.trainable import Rows


def label_scores(
    task: str, names: Sequence[str], parts: Mapping[str, Rows], *, ranked: bool = True
) -> dict[str, Any]:
    """What a row says, of the outputs, in the unit of the labels, and labels of each part.

    task: multiclass, binary or regression. ranked: whether the outputs say how sure a class is.
    """
    return {
        "labels": list(names),
        **{part: _part(task, names, part, *rows, ranked=ranked) for part, rows in parts.items()},
    }


def _part(
    task: str, names: Sequence[str], part: str, out: Tensor, y: Tensor, *, ranked: bool
) -> dict[str, Any]:
    outputs, labels = out.double().numpy(), y.double().numpy()
    wanted = wanted_scores(task, outputs.shape[1])
    if task == "multiclass":
        there = labels >= 0
        columns = [(outputs[there], labels[there].astype(np.int64))]
    else:
        known = ~np.isnan(labels)
        columns = [(o[k], t[k]) for o, t, k in zip(outputs.T, labels.T, known.T, strict=True)]
    made: dict[str, Any] = {"count": [len(truth) for _, truth in columns]}
    found = [column_scores(task, *column, part, ranked=ranked) for column in columns]
    for score in wanted:
        made[score] = [_number(each[score]) for each in found]
    why = {
        name: {score: reason for score, reason in each.items() if isinstance(reason, str)}
        for name, each in zip(names, found, strict=True)
    }
    undefined = {name: reasons for name, reasons in why.items() if reasons}
    return made | ({"undefined": undefined} if undefined else {})


def _number(value: float | str) -> float | None:
    """Seven significant digits are what float32 outputs have."""
    return None if isinstance(value, str) else float(f"{value:.7g}")
