"""How ensembles come about: of which trainings, and on what they are calibrated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gmpool.data import Dataset, Split
from gmpool.data.inner_folds import inner_folds
from gmpool.tasks.classify.ensemble import MEMBERS, Ensemble, member_of, say, together
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import FOLDS, ModelConfig
from gmpool.tasks.classify.sureness import Array
from gmpool.tasks.task import Fitted, Trainings
from gmpool.tasks.trainable import Rows

SEED_STEP = 1_000_000
"""From the seed of a member to that of the next, so that ensembles with seeds side by side share
none, and the first member is what a single model of the seed is."""


def trainings_of(dataset: Dataset, fold: int, model: ModelConfig, seed: int) -> Trainings:
    one, count = member_of(model), model.members
    if model.members_by == FOLDS:
        inner = inner_splits(dataset, fold, model, seed)
        return Trainings(one, replace(dataset, folds=inner), (seed,), tuple(range(1, count + 1)))
    return Trainings(one, dataset, tuple(seed + SEED_STEP * m for m in range(count)), (fold,))


def inner_splits(dataset: Dataset, fold: int, model: ModelConfig, seed: int) -> tuple[Split, ...]:
    return inner_folds(dataset, dataset.folds[fold - 1], model.members, seed)


def joined(
    members: Sequence[GraphModel], dataset: Dataset, fold: int, model: ModelConfig, seed: int
) -> Fitted:
    """Calibrated on the validation part, or each graph by the member that has not seen it."""
    split, graphs = dataset.folds[fold - 1], dataset.graphs
    held, by = split.valid, np.zeros(len(split.valid), dtype=np.int64)
    if model.members_by == FOLDS:
        parts = [part.valid for part in inner_splits(dataset, fold, model, seed)]
        held, by = torch.cat(parts), np.repeat(np.arange(len(parts)), list(map(len, parts)))
    made = Ensemble.of(members, model, len(held))
    outputs: dict[str, Rows] = {}
    loss = score = math.nan
    if len(held):
        said = say(made, graphs, held)
        made.sure.fit(said, _labels(dataset, held).numpy(), by)
        own = said[by, np.arange(len(by))][None] if made.sure.crossed else said
        outputs["valid"] = rows_of(made, own, _labels(dataset, held))
        loss, score = map(float, made.judge(*outputs["valid"]))
    test = math.nan
    if len(split.test):
        each = say(made, graphs, split.test)
        outputs["test"] = rows_of(made, each, _labels(dataset, split.test))
        outputs[MEMBERS] = (torch.from_numpy(each),)
        test = float(made.judge(*outputs["test"])[1])
    return Fitted(made, loss, score, test, 0.0, outputs)


def calibrated(model: GraphModel, dataset: Dataset, split: Split) -> Ensemble:
    """One model that knows how sure it is."""
    made = Ensemble.of([model], model.config, len(split.valid))
    said = say(made, dataset.graphs, split.valid)
    made.sure.fit(said, _labels(dataset, split.valid).numpy(), np.zeros(said.shape[1], np.int64))
    return made


def rows_of(model: Ensemble, said: Array, y: Tensor) -> Rows:
    return together(model.shape.task, torch.from_numpy(said)), y


def _labels(dataset: Dataset, ids: Tensor) -> Tensor:
    y = dataset.graphs.y
    assert y is not None, "a set with folds has labels"
    return y.cpu()[ids]
