from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_sets import MODEL, QUICK, TEN_MOLECULES, classes, split, with_labels
from torch.nn import functional as F
from trainings import alone

from gmpool.config import TrainConfig
from gmpool.data import Dataset, Split, from_smiles
from gmpool.engine.mover import cosine_with_warmup, exponential_with_warmup
from gmpool.engine.stack.members import Member
from gmpool.engine.train import Trained
from gmpool.engine.training import Epoch, Evaluation, better
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.predict import predict
from gmpool.tasks.classify.settings import ModelConfig


def run(config: TrainConfig = QUICK, *, seed: int = 0, model: ModelConfig = MODEL) -> Trained:
    return alone(classes(), Member(split(), model, config, seed))


def test_same_seed_same_bits() -> None:
    dropout = replace(MODEL, dropout=0.5)  # draws random numbers while training
    one, two = run(seed=3, model=dropout), run(seed=3, model=dropout)
    assert one.curve == two.curve
    assert (one.best, one.test_metric, one.test_loss) == (two.best, two.test_metric, two.test_loss)
    states = one.model.state_dict(), two.model.state_dict()
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


def test_another_seed_gives_another_training() -> None:
    one, two = run(seed=0), run(seed=1)
    assert one.curve[0].train_loss != two.curve[0].train_loss


def test_every_epoch_has_another_order_that_the_seed_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    orders: list[list[int]] = []
    true = Dataset.batches

    def spy(self: Dataset, ids: torch.Tensor, *rest: object):
        batches = list(true(self, ids, *rest))
        if torch.equal(ids, split().train):
            orders.append([i for batch in batches for i in batch.ids.tolist()])
        return batches

    monkeypatch.setattr(Dataset, "batches", spy)
    for seed in (0, 0, 1):
        run(seed=seed)
    first, again, other = orders[:3], orders[3:6], orders[6:]
    assert first == again
    assert len({tuple(order) for order in first + other}) == 6
    assert all(sorted(order) == split().train.tolist() for order in orders)


def test_random_state_of_the_caller_is_untouched_and_unused() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    one = run()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert run().curve == one.curve


# 12 graphs in batches of 8: 2 steps an epoch, 2 of warm-up and 4 of falling.
FALLING = {
    "cosine": [1, 0.5 + math.sqrt(0.125), 0.5, 0.5 - math.sqrt(0.125)],
    "exponential": [1, 10**-0.25, 10**-0.5, 10**-0.75],
}


@pytest.mark.parametrize("schedule", FALLING)
def test_learning_rate_follows_the_schedule(monkeypatch: pytest.MonkeyPatch, schedule: str) -> None:
    seen = []
    step = torch.optim.Adam.step

    def spy(self: torch.optim.Adam, *args: object) -> object:
        seen.append(self.param_groups[0]["lr"] / QUICK.lr)
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    run(replace(QUICK, schedule=schedule))
    assert seen == pytest.approx([0, 0.5, *FALLING[schedule]])


def test_gradients_are_clipped_to_the_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    norms = []
    step = torch.optim.Adam.step

    def spy(self: torch.optim.Adam, *args: object) -> object:
        gradients = [p.grad for p in self.param_groups[0]["params"] if p.grad is not None]
        norms.append(float(torch.nn.utils.get_total_norm(gradients)))
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    run(replace(QUICK, clip_norm=1e-3))
    assert norms == pytest.approx([1e-3] * 6, rel=1e-3)


def with_validation(
    monkeypatch: pytest.MonkeyPatch, scores: list[tuple[float, float]]
) -> list[dict[str, torch.Tensor]]:
    """Let validation show these (loss, metric) pairs; the list gets the weights at each of them."""
    weights: list[dict[str, torch.Tensor]] = []
    true = Evaluation.of

    def scripted(self: Evaluation, model: torch.nn.Module) -> tuple[float, float]:
        if len(weights) == len(scores) or self.batches[0].ids[0] == split().test[0]:
            return true(self, model)
        weights.append({k: v.clone() for k, v in model.state_dict().items()})
        return scores[len(weights) - 1]

    monkeypatch.setattr(Evaluation, "of", scripted)
    return weights


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[k], b[k]) for k in a)


def test_stops_patience_epochs_after_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [0.9, 0.5, 0.7, 0.5, 0.6, 0.1, 0.1]
    with_validation(monkeypatch, [(loss, 50.0) for loss in losses])
    trained = run(replace(QUICK, epochs=7, patience=3))
    assert trained.best.epoch == 2  # an equal loss later is not better
    assert len(trained.curve) == 5


def test_without_patience_all_epochs_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    with_validation(monkeypatch, [(0.1, 50.0)] + [(0.5, 50.0)] * 6)
    trained = run(replace(QUICK, epochs=7, patience=None))
    assert (trained.best.epoch, len(trained.curve)) == (1, 7)


@pytest.mark.parametrize(("select_by", "best"), [("loss", 2), ("metric", 3)])
def test_best_weights_by_loss_or_by_metric_are_the_tested_ones(
    select_by: str, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = [(0.7, 40.0), (0.2, 60.0), (0.5, 90.0), (0.6, 90.0)]
    weights = with_validation(monkeypatch, scores)
    trained = run(replace(QUICK, epochs=4, select_by=select_by))
    assert trained.best == Epoch(best, trained.curve[best - 1].train_loss, *scores[best - 1])
    assert same(trained.model.state_dict(), weights[best - 1])
    assert not same(weights[1], weights[2])


def test_test_score_is_that_of_the_best_weights() -> None:
    graphs, parts = classes(), split()
    trained = run(replace(QUICK, epochs=12, lr=0.05), model=replace(MODEL, dropout=0.5))
    assert trained.best.epoch < 12, "the last weights must not be the best for this to say much"
    scores = predict(trained.model, graphs.select(parts.test))
    assert graphs.y is not None
    truth = graphs.y[parts.test]
    assert trained.test_metric == pytest.approx(100 * (scores.argmax(1) == truth).double().mean())
    assert trained.test_loss == pytest.approx(float(F.nll_loss(scores.log(), truth)), rel=1e-4)
    assert trained.best.valid_loss == min(e.valid_loss for e in trained.curve)


def test_an_undefined_metric_loses_to_a_defined_one() -> None:
    undefined, low, high = (Epoch(1, 0.0, 0.0, value) for value in (math.nan, 50.0, 60.0))
    assert better(low, undefined, "metric", "roc_auc")
    assert not better(undefined, low, "metric", "roc_auc")
    assert not better(undefined, undefined, "metric", "roc_auc")
    assert better(high, low, "metric", "roc_auc")
    assert better(low, high, "metric", "rmse")


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_loss_that_is_not_finite_is_an_error_that_says_what_to_do(epochs: int) -> None:
    config = replace(QUICK, lr=1e30, epochs=epochs, warmup_epochs=0)
    with pytest.raises(UserError, match=r"loss became (nan|inf) in epoch 1 on shapes.*1e\+30"):
        run(config)


def without(part: str) -> Split:
    parts = {"train": split().train, "valid": split().valid, "test": split().test}
    return Split(**{**parts, part: parts[part][:0]})


def test_without_a_training_part_there_is_nothing_to_do() -> None:
    with pytest.raises(UserError, match="the train part of the split of shapes is empty"):
        alone(classes(), Member(without("train"), MODEL, QUICK, 0))


@pytest.mark.parametrize("select_by", ["loss", "metric"])
def test_without_a_validation_part_the_last_weights_are_kept(select_by: str) -> None:
    """All epochs are done, whatever the patience; the weights are those of a training that
    validates and has no better ones."""
    config = replace(QUICK, epochs=5, patience=1, select_by=select_by)
    trained = alone(classes(), Member(without("valid"), MODEL, config, 3))
    assert [epoch.epoch for epoch in trained.curve] == [1, 2, 3, 4, 5]
    assert trained.best == trained.curve[-1]
    assert all(math.isnan(e.valid_loss) and math.isnan(e.valid_metric) for e in trained.curve)
    seen: list[dict[str, torch.Tensor]] = []
    true = Evaluation.of

    def spy(self: Evaluation, model: torch.nn.Module) -> tuple[float, float]:
        seen.append({k: v.clone() for k, v in model.state_dict().items()})
        return true(self, model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluation, "of", spy)
        validated = alone(classes(), Member(split(), MODEL, replace(config, patience=None), 3))
    assert [e.train_loss for e in validated.curve] == [e.train_loss for e in trained.curve]
    assert same(trained.model.state_dict(), seen[4])
    assert not same(trained.model.state_dict(), seen[3])
    assert 0 <= trained.test_metric <= 100


def test_without_a_test_part_there_is_no_test_score() -> None:
    trained = alone(classes(), Member(without("test"), MODEL, QUICK, 3))
    assert math.isnan(trained.test_metric)
    assert math.isnan(trained.test_loss)
    tested = run(seed=3)
    assert trained.curve == tested.curve
    assert same(trained.model.state_dict(), tested.model.state_dict())


CANCELS = pytest.mark.xfail(
    strict=True,
    reason="HaarPool's rows are coefficients: on two joined clusters GCN averages their sum and "
    "their difference, and the features of one cluster, here O or Cl, cancel",
)


@pytest.mark.parametrize(
    "method",
    [pytest.param(m, marks=CANCELS if m == "haarpool" else ()) for m in METHODS],
)
def test_memorises_ten_molecules(method: str) -> None:
    labels = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 0, 1])
    graphs = from_smiles(TEN_MOLECULES, labels, task="multiclass")
    everything = torch.arange(10)
    trained = alone(
        graphs,
        Member(
            Split(everything, everything, everything),
            ModelConfig(method=method, hidden_dim=32, num_layers=2, dropout=0.0),
            TrainConfig(epochs=80, warmup_epochs=2, lr=5e-3, batch_size=10, weight_decay=0.0),
            seed=0,
        ),
    )
    assert trained.test_metric == 100.0


def test_regression_is_learned_at_unit_scale_and_told_in_label_units() -> None:
    sizes = classes().sizes.double()
    labels = (1000 + 50 * sizes).float().unsqueeze(1)  # far from mean 0 and deviation 1
    graphs = with_labels(labels, "regression")
    config = replace(QUICK, epochs=60, lr=0.02, patience=None)
    trained = alone(graphs, Member(split(), MODEL, config, 0))
    ours = labels[split().train]
    assert trained.model.target_mean.item() == pytest.approx(ours.mean().item(), rel=1e-5)
    assert trained.model.target_std.item() == pytest.approx(ours.std(correction=0).item(), rel=1e-5)
    assert trained.curve[0].train_loss < 5, "the loss is in deviations, not in label units"
    told = predict(trained.model, graphs)
    assert abs(told.mean().item() - labels.mean().item()) < labels.std().item()
    errors = (told - labels)[split().test]
    assert trained.test_metric == pytest.approx(errors.square().mean().sqrt().item(), rel=1e-4)
    assert trained.test_metric < labels.std().item(), "better than the mean alone"


def test_missing_labels_have_no_part_in_training() -> None:
    """Hiding some labels gives what removing them from loss and metric gives."""
    labels = torch.rand(24, 2, generator=torch.Generator().manual_seed(0)).round()
    labels[::3, 1] = math.nan
    config = replace(QUICK, batch_size=24, epochs=1, warmup_epochs=0)
    trained = alone(with_labels(labels, "binary"), Member(split(), MODEL, config, 0))
    assert math.isfinite(trained.curve[0].train_loss)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        fresh = GraphModel(trained.model.shape, MODEL)
    out, _ = fresh(with_labels(labels, "binary").batch(split().train))
    y = labels[split().train]
    known = ~y.isnan()
    expected = F.binary_cross_entropy_with_logits(out[known], y[known])
    assert trained.curve[0].train_loss == pytest.approx(expected.item(), rel=1e-5)


def test_every_epoch_is_reported() -> None:
    seen: list[Epoch] = []
    trained = alone(classes(), Member(split(), MODEL, QUICK, 0), on_epoch=seen.append)
    assert seen == trained.curve
    assert [e.epoch for e in seen] == [1, 2, 3]
    assert trained.seconds > 0


@pytest.mark.parametrize(
    ("step", "factor"),
    [(0, 0.0), (1, 0.1), (5, 0.5), (10, 1.0), (35, 0.8535533906), (60, 0.5), (110, 0.0)],
)
def test_values_at_ten_steps_of_warmup_and_a_hundred_of_cosine(step: int, factor: float) -> None:
    assert cosine_with_warmup(step, warmup=10, total=110) == pytest.approx(factor, abs=1e-9)


def test_no_warmup_starts_at_one() -> None:
    assert cosine_with_warmup(0, warmup=0, total=4) == 1.0
    assert cosine_with_warmup(1, warmup=0, total=4) == pytest.approx(0.5 + math.sqrt(0.125))


@given(st.integers(0, 50), st.integers(1, 50))
def test_rises_to_one_then_falls_to_zero(warmup: int, rest: int) -> None:
    total = warmup + rest
    factors = [cosine_with_warmup(s, warmup=warmup, total=total) for s in range(total + 1)]
    assert factors[: warmup + 1] == sorted(factors[: warmup + 1])
    assert factors[warmup] == max(factors) == 1.0
    assert factors[warmup:] == sorted(factors[warmup:], reverse=True)
    assert factors[-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("step", "factor"),
    [(0, 0.0), (5, 0.5), (10, 1.0), (60, 10**-0.5), (110, 0.1), (111, 0.1), (500, 0.1)],
)
def test_values_at_ten_steps_of_warmup_and_a_hundred_of_falling(step: int, factor: float) -> None:
    assert exponential_with_warmup(step, warmup=10, total=110) == pytest.approx(factor, abs=1e-9)


@given(st.integers(0, 50), st.integers(1, 50))
def test_every_step_takes_the_same_share(warmup: int, rest: int) -> None:
    total = warmup + rest
    factors = [exponential_with_warmup(s, warmup=warmup, total=total) for s in range(total + 1)]
    assert factors[: warmup + 1] == sorted(factors[: warmup + 1])
    assert factors[warmup] == 1.0
    assert factors[-1] == pytest.approx(0.1)
    for a, b in pairwise(factors[warmup:]):
        assert b / a == pytest.approx(0.1 ** (1 / rest))
