"""Replicas in one program give what they give alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from molecule_sets import random_set
from small_sets import MODEL, QUICK, classes, split, with_labels
from trainings import alone, as_set, stacked, stacking, task_for
from twenty_steps import assert_twenty_steps_are_those_of_each_alone, splits

from gmpool.config import TrainConfig
from gmpool.data import PackedGraphs, Split
from gmpool.engine.stack.members import Member
from gmpool.engine.stack.turns import Stacking, train_together
from gmpool.engine.train import Trained
from gmpool.errors import UserError
from gmpool.nn.batch_norm import running_of
from gmpool.pool import METHODS
from gmpool.tasks.classify.settings import ModelConfig

STACKED = [name for name in METHODS if METHODS[name].fixed_shapes]


@pytest.mark.parametrize("method", STACKED)
def test_twenty_steps_in_float64_are_those_of_each_alone(method: str) -> None:
    """Losses to 1e-5; every replica has a rate, decay, clip and split of its own."""
    configs = [
        TrainConfig(lr=5e-3, epochs=20, warmup_epochs=2, batch_size=8),
        TrainConfig(lr=1e-3, epochs=9, warmup_epochs=1, batch_size=8, weight_decay=0.01),
        TrainConfig(lr=2e-2, epochs=30, warmup_epochs=0, batch_size=8, clip_norm=0.1),
    ]
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, dropout=0.0)
    assert_twenty_steps_are_those_of_each_alone(classes(), splits(3), config, configs)


@pytest.mark.parametrize("method", ["gmt", "topk", "mean"])
def test_twenty_steps_of_directed_messages(method: str) -> None:
    """Alone each distinct state of a bond is made once, stacked each bond has its own; rates fall
    as each run has it."""
    configs = [
        TrainConfig(lr=lr, epochs=20, warmup_epochs=2, batch_size=8, schedule=schedule)
        for lr, schedule in ((5e-3, "exponential"), (2e-2, "cosine"), (1e-3, "exponential"))
    ]
    config = ModelConfig(
        method=method, hidden_dim=8, num_layers=3, conv="dmpnn", state_dim=6, dropout=0.0
    )
    assert_twenty_steps_are_those_of_each_alone(random_set(), splits(3), config, configs)


@pytest.mark.parametrize(
    ("method", "conv", "place", "graphs"),
    [
        ("gin", "gin", "inside", classes),
        ("gin", "gin", "both", random_set),
        ("mean", "gcn", "after", classes),
        ("gmt", "gcn", "after", random_set),
    ],
)
def test_twenty_steps_with_batch_norms(
    method: str, conv: str, place: str, graphs: Callable[[], PackedGraphs]
) -> None:
    """What fills up a batch takes no part in its mean and variance."""
    configs = [
        TrainConfig(lr=lr, epochs=20, warmup_epochs=2, batch_size=8) for lr in (5e-3, 2e-2, 1e-3)
    ]
    config = ModelConfig(
        method=method, hidden_dim=8, num_layers=2, conv=conv, batch_norm=place, dropout=0.0
    )
    assert_twenty_steps_are_those_of_each_alone(graphs(), splits(3), config, configs)


@pytest.mark.parametrize("method", ["sagpool", "sagpool-global"])
def test_twenty_steps_with_scores_by_a_graph_convolution(method: str) -> None:
    configs = [TrainConfig(lr=lr, epochs=20, warmup_epochs=2, batch_size=8) for lr in (5e-3, 2e-2)]
    pool = {"scored_by": "graph"}
    config = ModelConfig(method=method, hidden_dim=8, num_layers=2, dropout=0.0, pool=pool)
    assert_twenty_steps_are_those_of_each_alone(classes(), splits(2), config, configs)


@pytest.mark.parametrize("place", ["inside", "after"])
def test_a_whole_training_with_batch_norms(place: str) -> None:
    """Running statistics are each one's own, are those of the epoch that was best, and stand still
    where a run takes no step.

    A bias in front of a norm has a gradient of rounding errors alone, which Adam makes steps of:
    they move what is evaluated, not what is learned.
    """
    graphs, near = classes(), {"inside": 1e-3, "after": 1e-2}[place]
    model = replace(MODEL, method="gin", conv="gin", batch_norm=place)
    runs = [
        Member(part, model, replace(QUICK, epochs=30, patience=2 + k, lr=0.02), seed=k)
        for k, part in enumerate(splits(4))
    ]
    lengths = set()
    for run, found in zip(runs, stacked(graphs, runs), strict=True):
        single = alone(graphs, run)
        assert isinstance(found, Trained)
        assert [e.epoch for e in found.curve] == [e.epoch for e in single.curve]
        for a, b in zip(found.curve, single.curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=near)
        assert found.test_loss == pytest.approx(single.test_loss, rel=near)
        for name in running_of(found.model):
            here, there = found.model.get_buffer(name), single.model.get_buffer(name)
            torch.testing.assert_close(here, there, rtol=0.01, atol=0.01)
        lengths.add(len(found.curve))
    assert len(lengths) > 1, "the replicas stop at different epochs, or this tests nothing"


def test_a_whole_training_with_directed_messages() -> None:
    graphs = random_set()
    model = replace(MODEL, conv="dmpnn", num_layers=3, dropout=0.2)
    trains = [replace(QUICK, epochs=4, schedule=each) for each in ("exponential", "cosine")]
    runs = [Member(split(), model, train, seed) for seed, train in enumerate(trains)]
    for run, found in zip(runs, stacked(graphs, runs), strict=True):
        single = alone(graphs, run)
        assert isinstance(found, Trained)
        for a, b in zip(found.curve, single.curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-4)
        assert found.test_loss == pytest.approx(single.test_loss, rel=1e-4)


@pytest.mark.parametrize(
    ("method", "select_by"),
    [("gmt", "loss"), ("gmt", "metric"), ("topk", "loss"), ("sagpool", "loss")],
)
def test_a_whole_training_with_dropout_and_early_stopping(method: str, select_by: str) -> None:
    graphs = classes()
    runs = [
        Member(
            part,
            replace(MODEL, method=method, dropout=0.2 * k),
            replace(QUICK, epochs=25, patience=2 + k, lr=0.02, select_by=select_by),
            seed=k,
        )
        for k, part in enumerate(splits(4))
    ]
    lengths = set()
    for run, found in zip(runs, stacked(graphs, runs), strict=True):
        single = alone(graphs, run)
        assert isinstance(found, Trained)
        assert found.replicas == 4
        assert [e.epoch for e in found.curve] == [e.epoch for e in single.curve]
        for a, b in zip(found.curve, single.curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-4)
            assert a.valid_metric == b.valid_metric
        assert found.best.epoch == single.best.epoch
        assert found.test_metric == single.test_metric
        assert found.test_loss == pytest.approx(single.test_loss, rel=1e-4)
        lengths.add(len(found.curve))
    assert len(lengths) > 1, "the replicas stop at different epochs, or this tests nothing"


@pytest.mark.parametrize(("task", "metric"), [("regression", "nrmse"), ("binary", "roc_auc")])
def test_labels_that_are_missing(task: str, metric: str) -> None:
    y = torch.arange(48.0).view(24, 2).remainder(2 if task == "binary" else 7)
    y[1::2] = 1 - y[1::2]
    y[3, 0] = y[20, 1] = float("nan")
    graphs = with_labels(y, task)
    runs = [Member(split(), MODEL, QUICK, seed) for seed in range(2)]
    assert task_for(MODEL).metric(as_set(graphs), MODEL) == metric
    for run, found in zip(runs, stacked(graphs, runs), strict=True):
        single = alone(graphs, run)
        assert isinstance(found, Trained)
        assert found.test_metric == pytest.approx(single.test_metric, rel=1e-4, nan_ok=True)
        assert [e.valid_loss for e in found.curve] == pytest.approx(
            [e.valid_loss for e in single.curve], rel=1e-4
        )


def test_one_that_diverges_does_not_hurt_the_others() -> None:
    graphs = classes()
    good = replace(QUICK, epochs=6)
    bad = replace(good, lr=1e30, clip_norm=1e30)
    runs = [Member(split(), MODEL, config, seed=1) for config in (good, bad, good)]
    first, failed, last = stacked(graphs, runs)
    assert isinstance(failed, UserError)
    assert "try a smaller lr than 1e+30" in str(failed)
    single = alone(graphs, runs[0])
    for found in (first, last):
        assert isinstance(found, Trained)
        assert found.test_loss == pytest.approx(single.test_loss, rel=1e-4)


def test_what_cannot_be_one_program() -> None:
    graphs, task = classes(), task_for(MODEL)
    for config in (
        replace(MODEL, method="asap"),
        replace(MODEL, method="structpool", pool={"hops": 2}),
    ):
        why = task.cannot_stack(as_set(graphs), config)
        assert why == f"the shapes of {config.method} depend on the data"
        with pytest.raises(UserError, match="cannot be stacked; train one run at a time"):
            stacked(graphs, [Member(split(), config, QUICK, 0)])
    assert task.cannot_stack(as_set(graphs), MODEL) is None
    wide, small = replace(MODEL, hidden_dim=16), replace(QUICK, batch_size=4)
    for other in (Member(split(), wide, QUICK, 0), Member(split(), MODEL, small, 0)):
        with pytest.raises(UserError, match="one architecture and one batch_size"):
            stacked(graphs, [Member(split(), MODEL, QUICK, 0), other])
    with pytest.raises(UserError, match="a stack needs at least one run"):
        next(train_together([Stacking(task, as_set(graphs), [])]))


def without(*names: str) -> Split:
    parts = {"train": split().train, "valid": split().valid, "test": split().test}
    return Split(**{k: v[:0] if k in names else v for k, v in parts.items()})


@pytest.mark.parametrize("parts", [("valid",), ("test",), ("valid", "test")], ids="+".join)
@pytest.mark.parametrize("select_by", ["loss", "metric"])
def test_parts_that_are_not_there(parts: tuple[str, ...], select_by: str) -> None:
    """As alone; without a validation part the last weights are kept, whatever the patience. They
    end at other epochs, so that the first waits for the others in the program. Mean pooling has no
    weights whose gradients are rounding alone."""
    graphs, part, config = classes(), without(*parts), replace(MODEL, method="mean")
    runs = [
        Member(part, config, replace(QUICK, epochs=e, patience=1, lr=0.02, select_by=select_by), e)
        for e in (2, 24)
    ]
    for run, found in zip(runs, stacked(graphs, runs), strict=True):
        single = alone(graphs, run)
        assert isinstance(found, Trained)
        assert found.best.epoch == single.best.epoch
        if "valid" in parts:
            assert found.best.epoch == len(found.curve) == run.train.epochs
            assert all(math.isnan(e.valid_loss + e.valid_metric) for e in found.curve)
        for a, b in zip(found.curve, single.curve, strict=True):
            assert a.train_loss == pytest.approx(b.train_loss, rel=1e-4)
            assert a.valid_loss == pytest.approx(b.valid_loss, rel=1e-4, nan_ok=True)
        assert math.isnan(found.test_metric) == math.isnan(found.test_loss) == ("test" in parts)
        assert found.test_loss == pytest.approx(single.test_loss, rel=1e-4, nan_ok=True)
        for name, weight in single.model.state_dict().items():
            torch.testing.assert_close(found.model.state_dict()[name], weight, rtol=1e-3, atol=1e-5)


def test_all_members_of_a_stack_are_validated_or_none() -> None:
    members = [Member(part, MODEL, QUICK, 0) for part in (split(), without("valid"))]
    with pytest.raises(UserError, match="must all have a validation part, or none"):
        stacked(classes(), members)
    with pytest.raises(UserError, match="the train part of the split of shapes is empty"):
        stacked(classes(), [Member(without("train"), MODEL, QUICK, 0)])


def test_one_of_a_stack_may_have_no_test_part() -> None:
    members = [Member(part, MODEL, QUICK, 0) for part in (split(), without("test"))]
    tested, untested = stacked(classes(), members)
    assert isinstance(tested, Trained)
    assert isinstance(untested, Trained)
    assert tested.test_loss == pytest.approx(alone(classes(), members[0]).test_loss, rel=1e-4)
    assert math.isnan(untested.test_metric)


def test_the_next_stack_is_made_when_one_has_ended() -> None:
    begun = []

    def stackings() -> Iterator[Stacking]:
        for number in range(4):
            begun.append(number)
            yield stacking(classes(), [Member(split(), MODEL, QUICK, number)])

    for ended, (number, _, result) in enumerate(train_together(stackings(), at_once=2)):
        assert len(begun) <= ended + 2 + 1, "two at a time"
        assert number in begun
        assert isinstance(result, Trained)
    assert begun == [0, 1, 2, 3]


def test_a_run_that_has_ended_does_not_wait_for_its_stack() -> None:
    epochs: list[int] = []
    members = [Member(split(), MODEL, replace(QUICK, epochs=count), 42) for count in (2, 60)]
    taken = train_together([stacking(classes(), members, lambda e, _: epochs.append(e))])
    ended = [(member, len(epochs)) for _, member, _ in taken]
    assert [member for member, _ in ended] == [0, 1]
    assert ended[0][1] < ended[1][1] == 60
