"""What a trained model says of new graphs, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gmpool.atomic_files import PathLike
from gmpool.data import PackedGraphs
from gmpool.data.graph_rows import graph_rows
from gmpool.errors import UserError
from gmpool.tasks.answering import answered
from gmpool.tasks.classify.answerer import GraphAnswerer
from gmpool.tasks.classify.ensemble import BATCH, Ensemble, say
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.sureness import Array
from gmpool.tasks.predictions import Predictions, Value
from gmpool.tasks.shape import DataShape

ANSWERS = ("no", "yes")
OR = "|"
"""Between the labels of a set; in their names it is written as a slash."""
NOT_FINITE = "the model's answer is not a finite number"


def predict(
    model: GraphModel | Ensemble, graphs: PackedGraphs, *, batch_size: int = BATCH
) -> Tensor:
    """Probabilities per class [G, C], probabilities of yes [G, T], or values [G, T]: calibrated
    where a model is, and of several members the mean."""
    said = say(model, model.prepared(graphs), batch_size=batch_size)
    value = model.sure.answer(said).value if isinstance(model, Ensemble) else said[0]
    return torch.from_numpy(value).float()


def predictions(
    model: GraphModel | Ensemble,
    source: Any,
    root: PathLike | None = None,
    *,
    device: str = "cpu",
    batch_size: int | None = None,
    coverage: float | None = None,
    workers: int = 1,
    done: int = 0,
    **options: Any,
) -> Predictions:
    """Of what :func:`gmpool.data.graph_rows.graph_rows` takes, with its options. Graphs of another
    kind than the model's are an error here, before the first row.

    coverage: beside them intervals or sets that hold the truth as often. workers, done: as
    :func:`gmpool.tasks.answering.answered` has them.
    """
    given = graph_rows(source, root, **options)
    model.shape.fit(given.like)
    predictor = Predictor(model, device, batch_size, coverage)
    return answered(given, predictor, workers=workers, done=done)


class Predictor(GraphAnswerer):
    """Values with what is known of their error."""

    def __init__(
        self,
        model: GraphModel | Ensemble,
        device: str = "cpu",
        batch_size: int | None = None,
        coverage: float | None = None,
    ) -> None:
        if coverage is not None:
            _require_calibrated(model).sure.require(coverage)
        columns = prediction_columns(
            model.shape, has_std=says_std(model), has_ranges=coverage is not None
        )
        super().__init__(model, columns, device, batch_size)
        self.coverage = coverage

    def values(self, graphs: PackedGraphs) -> list[Sequence[Value] | str]:
        said, shape = say(self.model, graphs, batch_size=self.batch_size), self.model.shape
        value, numbers = said[0], []
        if isinstance(self.model, Ensemble):
            value, std = self.model.sure.answer(said)
            numbers = [std] if says_std(self.model) else []
            if self.coverage is not None and shape.task == "regression":
                numbers += self.model.sure.intervals(said, self.coverage)
        each = np.stack([value, *numbers], 2).astype(np.float32)  # [G, C or T, 1 to 4]
        finite = np.asarray(np.isfinite(each).all((1, 2))).tolist()
        sets = self._sets(said)
        columns: list[Sequence[Value]] = []
        if shape.task == "multiclass":
            best = np.nan_to_num(value).argmax(1).tolist()
            columns.append([shape.class_names[number] for number in best])
        for t in range(each.shape[1]):
            columns += each[:, t].T.tolist()
            columns += sets[t : t + 1] if shape.task == "binary" else []
        columns += sets if shape.task == "multiclass" else []
        rows = zip(*columns, strict=True)
        return [row if fine else NOT_FINITE for row, fine in zip(rows, finite, strict=True)]

    def _sets(self, said: Array) -> list[list[str]]:
        """What cannot be ruled out, for each label of each graph."""
        if self.coverage is None or self.model.shape.task == "regression":
            return []
        assert isinstance(self.model, Ensemble)
        words = [set_word(word) for word in self.model.shape.class_names or ANSWERS]
        inside = self.model.sure.sets(said, self.coverage)  # [G, T, 2] or [G, 1, C]
        return [
            [OR.join(word for word, is_in in zip(words, row, strict=True) if is_in) for row in of]
            for of in inside.transpose(1, 0, 2).tolist()
        ]


def set_word(label: str) -> str:
    """As it is written in a set."""
    return label.replace(OR, "/")


def says_std(model: GraphModel | Ensemble) -> bool:
    """Of numbers it is their error; of classes what members differ by, and one cannot differ."""
    if not isinstance(model, Ensemble):
        return False
    return model.shape.task == "regression" or len(model.members) > 1


def _require_calibrated(model: GraphModel | Ensemble) -> Ensemble:
    if not isinstance(model, Ensemble):
        raise UserError(
            "coverage needs a calibrated model, and this one is not: nothing was held out when it "
            "was trained; train it again with a validation part"
        )
    return model


def prediction_columns(
    shape: DataShape, *, has_std: bool = False, has_ranges: bool = False
) -> dict[str, type]:
    """pred_NAME is the most likely class or the value of a label, p_NAME the probability of a class
    or of yes; beside each stands std_NAME, and low_NAME and high_NAME, or set_NAME of a label."""
    names = label_names(shape)
    std = ["std"] * has_std
    if shape.task == "multiclass":
        each = {f"{kind}_{name}": float for name in shape.class_names for kind in ("p", *std)}
        sets = {f"set_{names[0]}": str} if has_ranges else {}
        return {f"pred_{names[0]}": str, **each, **sets}
    if shape.task == "binary":
        kinds, ranges = ["p", *std], ["set"] * has_ranges
    else:
        kinds, ranges = ["pred", *std], ["low", "high"] * has_ranges
    return {
        f"{kind}_{name}": str if kind == "set" else float
        for name in names
        for kind in (*kinds, *ranges)
    }


def label_names(shape: DataShape) -> tuple[str, ...]:
    if shape.task_names:
        return shape.task_names
    if shape.task == "multiclass":
        return ("class",)
    return tuple(f"task_{i}" for i in range(shape.num_outputs))
