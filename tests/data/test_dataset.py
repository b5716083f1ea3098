from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_sets import classes, with_labels

from gmpool.data import Dataset, epoch_batches, random_split, stratified_folds


def test_a_labelled_set_without_splits_gets_stratified_folds() -> None:
    for count, folds in ((24, 10), (6, 6)):
        graphs = classes(count)
        data = Dataset.of(graphs)
        assert graphs.y is not None
        want = [fold.digest for fold in stratified_folds(graphs.y, folds)]
        assert [fold.digest for fold in data.folds] == want
        assert (data.name, data.metric, len(data)) == ("shapes", "accuracy", count)
    assert Dataset.of(classes(2)).folds == ()
    split = random_split(6)
    assert Dataset.of(classes(6), (split,)).folds == (split,)


@pytest.mark.parametrize(("task", "metric"), [("binary", "roc_auc"), ("regression", "rmse")])
def test_the_metric_is_that_of_the_labels(task: str, metric: str) -> None:
    assert Dataset.of(with_labels(torch.ones(4, 1), task)).metric == metric


def test_unlabelled_graphs_have_neither_folds_nor_metric() -> None:
    bare = replace(classes(6), y=None, task=None, class_names=(), task_names=())
    data = Dataset.of(bare, skipped=("mine.csv:3: bad",))
    assert (data.folds, data.metric, data.skipped) == ((), None, ("mine.csv:3: bad",))


def test_what_is_asked_of_a_dataset() -> None:
    data = Dataset.of(classes(6))
    moved = data.to("cpu")
    assert moved.digest == data.digest == data.graphs.digest
    assert moved.folds is data.folds
    ids = data.folds[0].train
    for shuffle in (False, True):
        found, want = (
            [batch.ids.tolist() for batch in make(torch.Generator() if shuffle else None)]
            for make in (
                lambda generator: data.batches(ids, 3, generator),
                lambda generator: epoch_batches(data.graphs, ids, 3, generator),
            )
        )
        assert found == want
