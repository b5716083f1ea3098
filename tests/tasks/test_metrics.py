from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score
from torch.nn import functional as F

from gmpool.tasks.metrics import loss_of, metric_of, metrics_of

NAN = math.nan


def by_sklearn(scores: np.ndarray, labels: np.ndarray) -> float:
    """OGB's rule: the mean over the tasks that have both classes, of the labels that are there."""
    found = []
    for score, label in zip(scores.T, labels.T, strict=True):
        known = ~np.isnan(label)
        if len(set(label[known])) == 2:
            found.append(roc_auc_score(label[known], score[known]))
    return 100 * float(np.mean(found)) if found else NAN


def area(scores: np.ndarray, labels: np.ndarray) -> float:
    return metric_of("roc_auc", torch.from_numpy(scores), torch.from_numpy(labels))


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "rmse"])
def test_of_many_replicas_each_has_its_own(metric: str) -> None:
    generator = torch.Generator().manual_seed(0)
    out = torch.randn(4, 30, 2, generator=generator)
    y = torch.rand(4, 30, 2, generator=generator).round()
    y[torch.rand(4, 30, 2, generator=generator) < 0.3] = NAN
    each = [metric_of(metric, out[r], y[r]) for r in range(4)]
    assert metrics_of(metric, out, y).tolist() == pytest.approx(each)
    classes = torch.randint(0, 2, (4, 30), generator=generator)
    each = [metric_of("accuracy", out[r], classes[r]) for r in range(4)]
    assert metrics_of("accuracy", out, classes).tolist() == pytest.approx(each)


@given(st.data(), st.integers(1, 25), st.integers(1, 4))
def test_roc_auc_is_that_of_scikit_learn(data: st.DataObject, rows: int, tasks: int) -> None:
    few = st.sampled_from([-1.5, -0.5, 0.0, 0.25, 2.0])  # few values: many ties
    scores = data.draw(arrays(float, (rows, tasks), elements=few))
    labels = data.draw(arrays(float, (rows, tasks), elements=st.sampled_from([0.0, 1.0, NAN])))
    assert area(scores, labels) == pytest.approx(by_sklearn(scores, labels), nan_ok=True)


def test_roc_auc_of_many_scores_without_ties() -> None:
    random = np.random.default_rng(0)
    scores, labels = random.normal(size=(500, 3)), random.integers(0, 2, (500, 3)).astype(float)
    labels[random.random((500, 3)) < 0.3] = NAN
    assert area(scores, labels) == pytest.approx(by_sklearn(scores, labels), abs=1e-9)
    out, y = torch.from_numpy(scores).float(), torch.from_numpy(labels).float()
    assert metric_of("roc_auc", out, y) == pytest.approx(by_sklearn(scores, labels), abs=1e-3)


@pytest.mark.parametrize("labels", [[0.0, 0.0], [1.0, 1.0], [NAN, 1.0], [NAN, NAN]])
def test_roc_auc_needs_both_classes(labels: list[float]) -> None:
    assert math.isnan(area(np.array([[0.1], [0.2]]), np.array(labels)[:, None]))


def test_accuracy_of_classes_and_of_answers() -> None:
    out = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 3.0, 2.0], [1.0, 0.0, 0.0]])
    assert metric_of("accuracy", out, torch.tensor([0, 2, 2, 0])) == 75.0
    answers = torch.tensor([[1.0, NAN], [0.0, 1.0]])
    assert metric_of("accuracy", torch.tensor([[3.0, 3.0], [2.0, 1.0]]), answers) == pytest.approx(
        200 / 3
    )
    assert math.isnan(metric_of("accuracy", torch.zeros(2, 1), torch.full((2, 1), NAN)))


def test_rmse_leaves_missing_labels_out() -> None:
    out, y = torch.tensor([[1.0, 5.0], [4.0, 9.0]]), torch.tensor([[0.0, NAN], [2.0, NAN]])
    assert metric_of("rmse", out, y) == pytest.approx(math.sqrt(2.5))
    assert math.isnan(metric_of("rmse", out, torch.full_like(y, NAN)))


@pytest.mark.parametrize("task", ["binary", "regression"])
@given(st.integers(0, 2**16))
def test_loss_is_the_mean_over_known_labels_and_has_no_gradient_elsewhere(
    task: str, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    out = torch.randn(6, 3, generator=generator, dtype=torch.float64).requires_grad_()
    y = torch.rand(6, 3, generator=generator, dtype=torch.float64).round()
    y[torch.rand(6, 3, generator=generator) < 0.4] = NAN
    y[0, 0] = 1.0  # at least one is known
    known = ~y.isnan()
    plain = F.binary_cross_entropy_with_logits if task == "binary" else F.mse_loss
    loss = loss_of(task, out, y)
    torch.testing.assert_close(loss, plain(out[known], y[known]))
    (gradient,) = torch.autograd.grad(loss, out)
    assert not gradient[~known].any()
    assert gradient[known].all() or task == "regression"


def test_no_known_label_gives_zero_loss_not_nan() -> None:
    out = torch.randn(3, 2, requires_grad=True)
    loss = loss_of("binary", out, torch.full((3, 2), NAN))
    loss.backward()
    assert loss.item() == 0.0
    assert not out.grad.any()


def test_multiclass_loss_is_cross_entropy() -> None:
    out, y = torch.tensor([[1.0, 2.0, 0.5], [0.0, 0.0, 0.0]]), torch.tensor([1, 2])
    expected = -(out.log_softmax(1)[0, 1] + out.log_softmax(1)[1, 2]) / 2
    torch.testing.assert_close(loss_of("multiclass", out, y), expected)


def test_targets_in_several_units_are_told_in_deviations_of_each() -> None:
    """As outputs and labels are learned: each column divided by its deviation."""
    out = torch.tensor([[1.0, 5.0, 9.0], [3.0, 7.0, 9.0]])
    y = torch.tensor([[0.0, NAN, NAN], [2.0, 4.0, NAN]])
    assert metric_of("nrmse", out, y) == pytest.approx((1.0 + 3.0) / 2)
    assert math.isnan(metric_of("nrmse", out, torch.full_like(y, NAN)))


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "rmse", "nrmse", "error_x", "error_a"])
def test_outputs_that_are_no_numbers_have_no_score(metric: str) -> None:
    """Else NaN would be a class like another, and rank above all; without a label it is nothing."""
    out = torch.tensor([[[0.1, 2.0], [-1.0, 3.0]]]).repeat(3, 1, 1)
    y = torch.tensor([[[0.0, 1.0], [1.0, NAN]]]).repeat(3, 1, 1)
    out[1, 0, 0] = out[2, 1, 1] = NAN
    alone, broken, elsewhere = metrics_of(metric, out, y).tolist()
    assert math.isnan(broken)
    assert alone == elsewhere
    assert math.isfinite(alone)


def test_a_class_of_outputs_that_are_no_numbers_is_none() -> None:
    out = torch.tensor([[NAN, 0.0], [2.0, 1.0]])
    assert math.isnan(metric_of("accuracy", out, torch.tensor([0, 0])))
    assert metric_of("accuracy", out, torch.tensor([-100, 0])) == 100.0


def test_an_infinite_error_is_no_number() -> None:
    assert math.isnan(metric_of("rmse", torch.tensor([[math.inf]]), torch.tensor([[1.0]])))


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_loss_of_a_model_that_diverged_is_no_number(task: str) -> None:
    """Whether its label is there or not, so that the training ends with a word on it."""
    out = torch.tensor([[NAN], [1.0]])
    assert loss_of(task, out, torch.tensor([[1.0], [0.0]])).isnan()
    assert loss_of(task, out, torch.tensor([[NAN], [0.0]])).isnan()
