"""How a model is trained, and how settings by name become configurations; an unknown one raises."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, get_type_hints

from gmpool.errors import UserError, unknown
from gmpool.options import at_least, at_most, coerce

MOST = 100_000
"""Of any width, number of clusters, heads or the like: what is more is a slip of the keyboard."""
MOST_LAYERS = 1_000

SCHEDULES = ("cosine", "exponential")
LAST_RATE = 0.1
"""Of an exponential schedule, as a share of the highest."""


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained. The defaults are the paper's for the TU sets."""

    batch_size: int = 128
    lr: float = 5e-4
    weight_decay: float = 1e-4
    epochs: int = 500
    patience: int | None = 50
    """Stop after so many epochs without a better validation loss; none: never."""
    warmup_epochs: int = 50
    """The learning rate rises linearly for so long, then falls as `schedule` says."""
    schedule: str = "cosine"
    """How the learning rate falls: along a "cosine" to 0, or by the same share in every step to a
    tenth, "exponential"."""
    clip_norm: float | None = 1.0
    """Gradients longer than this are shortened to it; none: never."""
    select_by: str = "loss"
    """The weights that are tested: best validation "loss" or best validation "metric"."""
    epoch_steps: int | None = None
    """Steps of an epoch, on examples drawn at random; none: one pass over the training part."""

    @property
    def cosine_epochs(self) -> float:
        """When the schedule has brought the learning rate down to its lowest; infinity: it stays as
        it is, and there is no schedule to choose."""
        return self.epochs


M = TypeVar("M")
T = TypeVar("T", bound=TrainConfig)


def assemble(
    model: M, train: T, settings: Mapping[str, Any], pool_types: Mapping[str, str]
) -> tuple[M, T]:
    """Both configurations with the settings, each of which goes where its name is known.

    model: has fields method and pool, the options of the method. pool_types: their declared types.
    A setting that nobody knows is an error, and so is a value of another type.
    """
    made: Any = model
    pool: dict[str, Any] = {}
    model_keys: set[str] = {f.name for f in fields(made)} - {"method", "pool"}
    train_keys: set[str] = {f.name for f in fields(train)}
    for key, value in settings.items():
        if key in train_keys:
            train = replace(train, **{key: coerce(_hint(train, key), key, value)})
        elif key.startswith("pool."):
            name = _known(key[5:], pool_types, made.method)
            pool[name] = coerce(pool_types[name], key, value)
        elif key in model_keys:
            made = replace(made, **{key: coerce(_hint(made, key), key, value)})
        elif key in pool_types:
            pool[key] = coerce(pool_types[key], key, value)
        else:
            raise unknown("option", key, [*train_keys, *model_keys, *pool_types])
    check_training(train)
    for key, value in {**vars(made), **pool}.items():
        if isinstance(value, int):
            at_most((key, value, MOST_LAYERS if key.endswith("layers") else MOST))
    return replace(made, pool=pool), train


def _known(key: str, options: Collection[str], method: str) -> str:
    if key not in options:
        raise unknown(f"option of {method}", key, options)
    return key


def _hint(config: object, key: str) -> str:
    return str(get_type_hints(type(config))[key])


def check_training(train: TrainConfig) -> None:
    """Raises if a value makes no sense."""
    at_least(
        ("batch_size", train.batch_size, 1),
        ("epochs", train.epochs, 1),
        ("patience", 1 if train.patience is None else train.patience, 1),
        ("warmup_epochs", train.warmup_epochs, 0),
        ("epoch_steps", 1 if train.epoch_steps is None else train.epoch_steps, 1),
    )
    clip_norm = 1.0 if train.clip_norm is None else train.clip_norm
    for key, number in (("lr", train.lr), ("clip_norm", clip_norm)):
        if not number > 0:
            raise UserError(f"option {key} must be positive, got {number}")
    if not train.weight_decay >= 0:
        raise UserError(f"option weight_decay must not be negative, got {train.weight_decay}")
    if train.schedule not in SCHEDULES:
        raise unknown("schedule", train.schedule, SCHEDULES)
    if train.schedule != SCHEDULES[0] and math.isinf(train.cosine_epochs):
        raise UserError(
            f"option schedule={train.schedule}: the learning rate stays as it is in this task; "
            f"leave it out"
        )
    if train.select_by not in ("loss", "metric"):
        raise unknown("select_by", train.select_by, ("loss", "metric"))
