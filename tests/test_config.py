from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gmpool.config import TrainConfig, assemble, check_training
from gmpool.errors import UserError
from gmpool.options import parse_value


@dataclass(frozen=True)
class Model:
    method: str = "some"
    width: int = 128
    conv: str = "gcn"
    pool: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LongTraining(TrainConfig):
    epochs: int = 10_000
    pauses: int = 0


POOL = {"heads": "int", "conv": "str | None", "ratio": "float"}


def assembled(**settings: Any) -> tuple[Model, LongTraining]:
    return assemble(Model(), LongTraining(), settings, POOL)


def test_each_setting_goes_where_its_name_is_known() -> None:
    model, train = assembled(lr="1", patience="none", pauses="2", width="64", heads="3", ratio="1")
    assert train == LongTraining(lr=1.0, patience=None, pauses=2)
    assert isinstance(train.lr, float)
    assert model == Model(width=64, pool={"heads": 3, "ratio": 1.0})
    assert isinstance(model.pool["ratio"], float)


def test_without_settings_all_is_as_it_was() -> None:
    assert assembled() == (Model(), LongTraining())


def test_the_prefix_reaches_an_option_that_the_model_has_too() -> None:
    model, _ = assembled(**{"conv": "gin", "pool.conv": "none", "pool.heads": "2"})
    assert (model.conv, model.pool) == ("gin", {"conv": None, "heads": 2})


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("pause", r"unknown option 'pause'; did you mean 'pauses'\? \(known: .*batch_size"),
        (
            "pool.head",
            r"unknown option of some 'head'; did you mean 'heads'\? \(known: conv, heads",
        ),
        ("method", "unknown option 'method'"),
        ("pool", "unknown option 'pool'"),
    ],
)
def test_an_unknown_setting_is_an_error(key: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        assembled(**{key: 1})


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("batch_size", 0, "option batch_size must be at least 1, got 0"),
        ("epochs", 0, "option epochs must be at least 1, got 0"),
        ("patience", 0, "option patience must be at least 1, got 0"),
        ("warmup_epochs", -1, "option warmup_epochs must be at least 0, got -1"),
        ("lr", 0.0, "option lr must be positive, got 0.0"),
        ("lr", float("nan"), "option lr must be (positive|finite), got nan"),
        ("clip_norm", -1.0, "option clip_norm must be positive, got -1.0"),
        ("weight_decay", -1.0, "option weight_decay must not be negative, got -1.0"),
        ("select_by", "los", "unknown select_by 'los'; did you mean 'loss'"),
        ("schedule", "cosin", "unknown schedule 'cosin'; did you mean 'cosine'"),
    ],
)
def test_a_training_that_makes_no_sense_is_refused(key: str, value: object, text: str) -> None:
    with pytest.raises(UserError, match=text):
        check_training(replace(TrainConfig(), **{key: value}))
    with pytest.raises(UserError, match=text):
        assembled(**{key: value})


def test_where_the_rate_stays_as_it_is_there_is_no_schedule_to_choose() -> None:
    @dataclass(frozen=True)
    class Steady(TrainConfig):
        @property
        def cosine_epochs(self) -> float:
            return math.inf

    check_training(Steady())
    check_training(TrainConfig(schedule="exponential"))
    with pytest.raises(UserError, match="option schedule=exponential: the learning rate stays as"):
        check_training(Steady(schedule="exponential"))


def test_what_may_be_left_out_of_a_training() -> None:
    check_training(TrainConfig(patience=None, clip_norm=None, warmup_epochs=0, weight_decay=0.0))


@pytest.mark.parametrize(
    ("text", "value"),
    [("none", None), ("True", True), ("false", False), ("3", 3), ("1e-3", 1e-3), ("gcn", "gcn")],
)
def test_parse_value(text: str, value: object) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)
