"""What members say becomes calibrated answers, intervals and sets, and is kept with the model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gmpool.errors import UserError
from gmpool.tasks.classify.sureness import MOST, Sureness
from gmpool.tasks.shape import DataShape

NAMES = ("a", "b")


def shape(task: str, outputs: int = 2) -> DataShape:
    classes = tuple("xyz") if task == "multiclass" else ()
    names = ("c",) if task == "multiclass" else NAMES[:outputs]
    count = len(classes) or outputs
    return DataShape(task, 1, count, 5.0, class_names=classes, task_names=names)


def draw(task: str, members: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What members say of n graphs, and labels that they are right about on average."""
    rng = np.random.default_rng(seed)
    if task == "regression":
        truth = rng.normal(0, 3, (n, 2))
        return truth + rng.normal(0, 0.3, (members, n, 2)), truth + rng.normal(0, 1, (n, 2))
    if task == "binary":
        z = rng.normal(0, 2, (n, 2)) + rng.normal(0, 0.5, (members, n, 2))
        p = 1 / (1 + np.exp(-z))
        return p, (rng.random((n, 2)) < p.mean(0)).astype(float)
    z = rng.normal(0, 2, (n, 3)) + rng.normal(0, 0.5, (members, n, 3))
    p = np.exp(z) / np.exp(z).sum(2, keepdims=True)
    y = np.array([rng.choice(3, p=row / row.sum()) for row in p.mean(0)])
    return p, y.astype(float)


def fitted(task: str, n: int = 400, members: int = 3, *, crossed: bool = False) -> Sureness:
    sure = Sureness(shape(task), n, crossed=crossed)
    said, y = draw(task, members, n)
    by = np.arange(n) % members if crossed else np.zeros(n, dtype=np.int64)
    sure.fit(said, y, by)
    return sure


@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_intervals_hold_new_labels_as_often_as_promised(crossed: bool, coverage: float) -> None:
    sure = fitted("regression", 1500, crossed=crossed)
    said, y = draw("regression", 3, 4000, seed=1)
    low, high = sure.intervals(said, coverage)
    assert low.shape == high.shape == (4000, 2)
    inside = ((low <= y) & (y <= high)).mean(0)
    # Errors of single members promise a little less than all together keep.
    assert (inside > coverage - 0.02).all()
    assert (inside < coverage + (0.04 if crossed else 0.02)).all()


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_sets_hold_new_labels_as_often_as_promised(
    task: str, crossed: bool, coverage: float
) -> None:
    sure = fitted(task, 1500, crossed=crossed)
    said, y = draw(task, 3, 4000, seed=1)
    found = sure.sets(said, coverage)  # [G, T, 2] or [G, 1, C]
    labels = y.reshape(4000, -1).astype(int)
    inside = np.take_along_axis(found, labels[..., None], 2)[..., 0].mean(0)
    assert np.abs(inside - coverage).max() < 0.03


def test_a_broken_calibration_does_not_hold_what_it_promises() -> None:
    """The same check fails where held-out errors are not those of new graphs."""
    sure = fitted("regression", 1500)
    sure.scores /= 2
    said, y = draw("regression", 3, 4000, seed=1)
    low, high = sure.intervals(said, 0.9)
    assert ((low <= y) & (y <= high)).mean() < 0.75


def test_the_deviation_is_what_errors_are_like() -> None:
    sure = fitted("regression", 2000)
    said, y = draw("regression", 3, 4000, seed=1)
    value, std = sure.answer(said)
    np.testing.assert_allclose(value, said.mean(0))
    assert np.std((y - value) / std) == pytest.approx(1, abs=0.06)


def test_answers_are_probabilities_and_differ_by_members() -> None:
    for task in ("binary", "multiclass"):
        value, std = fitted(task).answer(draw(task, 3, 50, seed=1)[0])
        assert ((value >= 0) & (value <= 1)).all()
        assert (std > 0).any()
        if task == "multiclass":
            np.testing.assert_allclose(value.sum(1), 1)


def test_labels_that_are_missing_are_no_errors() -> None:
    sure = Sureness(shape("regression"), 100, crossed=False)
    said, y = draw("regression", 2, 100)
    y[::2, 1] = np.nan
    sure.fit(said, y, np.zeros(100, dtype=np.int64))
    assert (sure.scores[0] >= 0).sum() == 100
    assert (sure.scores[1] >= 0).sum() == 50
    with pytest.raises(UserError, match=r"b: 50 held-out labels promise .* at most 0\.98"):
        sure.intervals(said, 0.985)
    assert sure.intervals(said, 0.95)[0].shape == (100, 2)


def test_it_is_kept_as_numbers_that_files_may_hold() -> None:
    sure = fitted("binary", 200)
    again = Sureness(shape("binary"), 200, crossed=False)
    again.load_state_dict(sure.state_dict())
    assert all(torch.isfinite(t).all() for t in sure.state_dict().values())
    said, _ = draw("binary", 3, 30, seed=2)
    for one, other in zip(sure.answer(said), again.answer(said), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(sure.sets(said, 0.8), again.sets(said, 0.8))


def test_of_many_graphs_some_are_kept() -> None:
    sure = fitted("regression", MOST + 500)
    assert sure.scores.shape == (2, MOST)
    assert (sure.scores >= 0).all()


def test_nothing_was_held_out() -> None:
    sure = Sureness(shape("binary"), 0, crossed=False)
    said, _ = draw("binary", 3, 5)
    np.testing.assert_allclose(sure.answer(said).value, said.mean(0))
    with pytest.raises(UserError, match="a: 0 held-out labels promise"):
        sure.sets(said, 0.5)


def test_intervals_are_for_numbers_and_sets_for_classes() -> None:
    with pytest.raises(UserError, match="classes have sets"):
        fitted("binary").intervals(draw("binary", 3, 5)[0], 0.8)
    with pytest.raises(UserError, match="numbers have intervals"):
        fitted("regression").sets(draw("regression", 3, 5)[0], 0.8)
