"""A training that is going on, epoch by epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gmpool.config import TrainConfig
from gmpool.engine.hands import ALONE, Hands
from gmpool.engine.mover import Mover
from gmpool.errors import UserError
from gmpool.nn.clock import clocks_of, set_clocks
from gmpool.report.metrics import METRICS
from gmpool.tasks.protocols import Dataset
from gmpool.tasks.task import Split
from gmpool.tasks.trainable import Rows, Trainable


@dataclass(frozen=True)
class Epoch:
    """What one epoch showed: the points of a learning curve. NaN without a validation part."""

    epoch: int
    train_loss: float
    valid_loss: float
    valid_metric: float


class Training:
    """The weights change with every epoch; the best ones are kept beside them. hands: who does
    the steps."""

    def __init__(
        self,
        model: Trainable,
        dataset: Dataset,
        split: Split,
        config: TrainConfig,
        metric: str,
        seed: int,
        hands: Hands = ALONE,
    ) -> None:
        self.model, self.dataset, self.split, self.config = model, dataset, split, config
        self.metric, self.seed, self.hands = metric, seed, hands
        size, self.examples = config.batch_size, examples_of(config, split)
        self.steps = math.ceil(self.examples / size)
        self.movers = [Mover(model, phase, config, self.steps, hands) for phase in model.phases]
        self.shuffle = torch.Generator().manual_seed(seed)
        self.valid, self.test = (
            Evaluation(dataset, part, size, hands) for part in (split.valid, split.test)
        )
        self.curve: list[Epoch] = []
        self.best: Epoch | None = None
        self.best_state: dict[str, Tensor] = {}
        self.best_rows: Rows = ()
        self.began, self.seconds_before = time.perf_counter(), 0.0

    @property
    def is_over(self) -> bool:
        number, patience = len(self.curve), self.config.patience
        waited = 0 if self.best is None else number - self.best.epoch
        return number >= self.config.epochs or (patience is not None and waited >= patience)

    def epoch(self) -> Epoch:
        """Do one more."""
        number, config, model = len(self.curve) + 1, self.config, self.model
        size, steps, movers = config.batch_size, self.steps, self.movers
        model.train()
        losses = []
        for step, batch in enumerate(self._batches(), start=(number - 1) * steps):
            for at, (phase, mover) in enumerate(zip(model.phases, movers, strict=True)):
                if phase.taken(step):
                    if len(movers) > 1:  # with one phase clocks run by themselves
                        set_clocks(model, len(movers) * step + at)
                    loss = mover.step(batch)
                    if at == 0:
                        losses.append(loss * min(size, self.examples - step % steps * size))
        (train_loss,) = self.hands.agreed(float(torch.stack(losses).sum()) / self.examples)
        epoch = Epoch(number, train_loss, *self.valid.of(model))
        has_valid = len(self.split.valid) > 0
        if failure := loss_error(epoch, self.dataset.name, config, has_valid=has_valid):
            raise failure
        self.curve.append(epoch)
        if self.best is None or better(epoch, self.best, config.select_by, self.metric):
            self.best, self.best_rows = epoch, self.valid.rows
            self.best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        return epoch

    def _batches(self) -> Iterator[Any]:
        """Of one epoch."""
        ids, config = self.split.train, self.config
        if config.epoch_steps is None:
            return self.hands.batches(self.dataset, ids, config.batch_size, self.shuffle)
        count = config.epoch_steps * config.batch_size
        return self.hands.batches(self.dataset, drawn(ids, count, self.shuffle), config.batch_size)

    def tested(self) -> tuple[float, float]:
        """(loss, metric) of the test part at the best weights, which the model has from then on."""
        self.model.load_state_dict(self.best_state)
        return self.test.of(self.model)

    # -- between two epochs ---------------------------------------------------------------------

    def state(self) -> dict[str, Tensor]:
        """All that what follows depends on."""
        assert self.best is not None
        clocks = {name: self.model.get_buffer(name) for name in clocks_of(self.model)}
        groups: dict[str, Mapping[str, Tensor]] = {
            "model": self.model.state_dict(),
            "best": self.best_state,
            "clock": clocks,
            "rows": {str(number): rows for number, rows in enumerate(self.best_rows)},
        }
        groups |= {f"mover{number}": mover.state() for number, mover in enumerate(self.movers)}
        seconds = self.seconds_before + time.perf_counter() - self.began
        return {
            "seconds": torch.tensor(seconds, dtype=torch.float64),
            "shuffle": self.shuffle.get_state(),
            "curve": torch.tensor([astuple(e)[1:] for e in self.curve], dtype=torch.float64),
            "best_epoch": torch.tensor(self.best.epoch),
            **{f"{group}.{name}": v for group, of in groups.items() for name, v in of.items()},
        }

    def go_on(self, state: Mapping[str, Tensor]) -> None:
        """From a state, as after the epoch that it was taken at."""
        device = next(self.model.parameters()).device
        self.model.load_state_dict(_group(state, "model"))
        for name, value in _group(state, "clock").items():
            self.model.get_buffer(name).copy_(value)
        for number, mover in enumerate(self.movers):
            mover.go_on(_group(state, f"mover{number}"))
        self.shuffle.set_state(state["shuffle"])
        self.seconds_before = float(state["seconds"])
        points = enumerate(state["curve"].tolist(), start=1)
        self.curve = [Epoch(number, *point) for number, point in points]
        self.best = self.curve[int(state["best_epoch"]) - 1]
        self.best_state = {k: v.to(device) for k, v in _group(state, "best").items()}
        rows = _group(state, "rows")
        self.best_rows = tuple(rows[str(number)].to(device) for number in range(len(rows)))


def _group(state: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    start = f"{name}."
    return {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)}


def examples_of(config: TrainConfig, split: Split) -> int:
    """Of an epoch."""
    if config.epoch_steps is None:
        return len(split.train)
    return config.epoch_steps * config.batch_size


def drawn(ids: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """So many of them at random, each time from all. [count]"""
    return ids.index_select(0, torch.randint(len(ids), (count,), generator=generator))


def loss_error(
    epoch: Epoch, name: str, config: TrainConfig, *, has_valid: bool
) -> UserError | None:
    """What to tell the user when an epoch's loss is not a number."""
    valid_loss = epoch.valid_loss if has_valid else 0.0
    for part, loss in {"training": epoch.train_loss, "validation": valid_loss}.items():
        if not math.isfinite(loss):
            return UserError(
                f"the {part} loss became {loss} in epoch {epoch.epoch} on {name}; "
                f"try a smaller lr than {config.lr}"
            )
    return None


def better(epoch: Epoch, best: Epoch, select_by: str, metric: str) -> bool:
    """Strictly better; a metric that is not defined never is, and loses to one that is. Without a
    validation part the last is the best."""
    if math.isnan(epoch.valid_loss):
        return True
    if select_by == "loss":
        return epoch.valid_loss < best.valid_loss
    if math.isnan(best.valid_metric):
        return not math.isnan(epoch.valid_metric)
    if METRICS[metric].higher:
        return epoch.valid_metric > best.valid_metric
    return epoch.valid_metric < best.valid_metric


KEPT = 20_000
"""Examples of a part whose batches stay in memory."""


class Evaluation:
    """Loss and metric on a fixed part of a set; NaN if it is empty."""

    def __init__(
        self, dataset: Dataset, ids: Tensor, batch_size: int, hands: Hands = ALONE
    ) -> None:
        self.hands, self.is_empty = hands, not len(ids)
        own = hands.own(dataset, ids)
        self.make: Callable[[], Iterable[Any]]
        self.make = partial(dataset.batches, own, batch_size) if len(own) else list
        # Of a small part they are made once, with all that has been computed of them.
        self.batches = list(self.make()) if len(ids) <= KEPT else None
        self.rows: Rows = ()  # what the model gave that was evaluated last

    @torch.no_grad()
    def of(self, model: Trainable) -> tuple[float, float]:
        if self.is_empty:
            return math.nan, math.nan
        model.eval()
        batches = self.make() if self.batches is None else self.batches
        rows = zip(*(model.evaluate(batch) for batch in batches), strict=True)
        own = tuple(torch.cat(parts) for parts in rows)
        self.rows = self.hands.gathered(own, next(model.parameters()).device)
        loss, score = self.hands.agreed(*map(float, model.judge(*self.rows)))
        return loss, score
