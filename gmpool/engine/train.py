"""One training: a pure function of model, data, split, configuration and seed."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gmpool.config import LAST_RATE, TrainConfig
from gmpool.errors import UserError
from gmpool.nn.clock import set_clocks
from gmpool.report.metrics import METRICS
from gmpool.tasks.model_size import refuse_giants
from gmpool.tasks.protocols import Dataset, Watch
from gmpool.tasks.task import Split, Task
from gmpool.tasks.trainable import Phase, Rows, Trainable


@dataclass(frozen=True)
class Epoch:
    """What one epoch showed: the points of a learning curve. NaN without a validation part."""

    epoch: int
    train_loss: float
    valid_loss: float
    valid_metric: float


@dataclass
class Trained:
    """A finished training: the model at its best validation, and how it got there."""

    model: Any
    best: Epoch
    test_metric: float
    """NaN without a test part."""
    test_loss: float
    seconds: float
    curve: list[Epoch] = field(default_factory=list)
    replicas: int = 1
    """How many runs were one program with this one; its seconds are a share of theirs."""
    outputs: dict[str, Rows] = field(default_factory=dict)
    """What `evaluate` gave of the validation and the test part, where the task scores that."""
    watched: dict[str, Any] = field(default_factory=dict)
    """What was seen of it by a `Watch` of its task."""


def train(
    task: Task,
    dataset: Any,
    split: Split,
    model: Any,
    config: TrainConfig,
    *,
    seed: int,
    device: str = "cpu",
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Trained:
    """Train to the stopping rule, and test the weights that were best on the validation part;
    without one, the last.

    Global random state is left as it was: initial weights draw from a forked stream, the order of
    batches from a generator of its own, both seeded with `seed`.
    """
    require_training_part(split, dataset)
    start = time.perf_counter()
    if fitted := task.fit(dataset, split, model):
        best = Epoch(0, math.nan, fitted.valid_loss, fitted.valid_metric)
        made = fitted.model, best, fitted.test_metric, math.nan, fitted.seconds
        return Trained(*made, outputs=dict(fitted.outputs))
    devices = [] if torch.device(device).type == "cpu" else [torch.device(device)]
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        there = task.data_for(dataset, model).to(device)
        begun = first_model(task, there, split, model, seed).to(device)
        watch = task.watch(there, split, model, config, device)
        metric = task.metric(dataset, model)
        trained = _train(begun, there, split, config, metric, seed, on_epoch, watch)
    found = trained.outputs.items() if task.scores_outputs else ()
    trained.outputs = {part: tuple(t.cpu() for t in rows) for part, rows in found if rows}
    trained.seconds = time.perf_counter() - start
    return trained


def require_training_part(split: Split, dataset: Dataset) -> None:
    if not len(split.train):
        raise UserError(f"the train part of the split of {dataset.name} is empty")


def _train(
    model: Trainable,
    dataset: Dataset,
    split: Split,
    config: TrainConfig,
    metric: str,
    seed: int,
    on_epoch: Callable[[Epoch], None] | None,
    watch: Watch | None,
) -> Trained:
    size, examples = config.batch_size, examples_of(config, split)
    steps = math.ceil(examples / size)
    movers = [_Mover(model, phase, config, steps) for phase in model.phases]
    shuffle = torch.Generator().manual_seed(seed)
    valid, test = (Evaluation(dataset, part, size) for part in (split.valid, split.test))
    curve: list[Epoch] = []
    best: Epoch | None = None
    best_state: dict[str, Tensor] = {}
    best_rows: Rows = ()
    for number in range(1, config.epochs + 1):
        model.train()
        losses = []
        batches = _batches(dataset, split.train, config, shuffle)
        for step, batch in enumerate(batches, start=(number - 1) * steps):
            for at, (phase, mover) in enumerate(zip(model.phases, movers, strict=True)):
                if phase.taken(step):
                    if len(movers) > 1:  # with one phase clocks run by themselves
                        set_clocks(model, len(movers) * step + at)
                    loss = mover.step(batch)
                    if at == 0:
                        losses.append(loss * min(size, examples - step % steps * size))
        train_loss = float(torch.stack(losses).sum()) / examples
        epoch = Epoch(number, train_loss, *valid.of(model))
        if failure := loss_error(epoch, dataset.name, config, has_valid=len(split.valid) > 0):
            raise failure
        if watch:
            _show(model, watch, number)
        curve.append(epoch)
        if best is None or _better(epoch, best, config.select_by, metric):
            best, best_rows = epoch, valid.rows
            best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        if on_epoch:
            on_epoch(epoch)
        if config.patience is not None and number - best.epoch >= config.patience:
            break
    assert best is not None
    model.load_state_dict(best_state)
    test_loss, test_metric = test.of(model)
    outputs = {"valid": best_rows, "test": test.rows}
    watched: dict[str, Any] = {}
    if watch:
        test_metric, watched = watch.said()
    return Trained(
        model, best, test_metric, test_loss, 0.0, curve, outputs=outputs, watched=watched
    )


def examples_of(config: TrainConfig, split: Split) -> int:
    """Of an epoch."""
    if config.epoch_steps is None:
        return len(split.train)
    return config.epoch_steps * config.batch_size


def drawn(ids: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """So many of them at random, each time from all. [count]"""
    return ids.index_select(0, torch.randint(len(ids), (count,), generator=generator))


def _batches(
    dataset: Dataset, ids: Tensor, config: TrainConfig, shuffle: torch.Generator
) -> Iterator[Any]:
    """Of one epoch."""
    if config.epoch_steps is None:
        return dataset.batches(ids, config.batch_size, shuffle)
    count = config.epoch_steps * config.batch_size
    return dataset.batches(drawn(ids, count, shuffle), config.batch_size)


@torch.no_grad()
def _show(model: Trainable, watch: Watch, number: int) -> None:
    model.eval()
    device = next(model.parameters()).device
    watch.see(number, tuple(t.cpu() for t in model.sample(watch.numbers.to(device))))


class _Mover:
    """Adam for the weights of one phase, with a norm clip and the schedule of the rate."""

    def __init__(self, model: Trainable, phase: Phase, config: TrainConfig, steps: int) -> None:
        self.model, self.phase = model, phase
        self.weights = [p for name, p in model.named_parameters() if phase.moves(name)]
        self.clip_norm = getattr(config, phase.clip_norm)
        self.adam = torch.optim.Adam(
            self.weights,
            lr=getattr(config, phase.lr),
            betas=phase.betas,
            weight_decay=getattr(config, phase.weight_decay),
            fused=True,
        )
        of_phase = steps / phase.every
        warmup, total = config.warmup_epochs * of_phase, config.cosine_epochs * of_phase
        factor = SCHEDULED[config.schedule]
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.adam, lambda step: factor(step, warmup=warmup, total=total)
        )

    def step(self, batch: Any) -> Tensor:
        """Move the weights once; the loss before that."""
        self.model.zero_grad(set_to_none=True)
        loss = self.model.loss(batch, self.phase)
        loss.backward(inputs=self.weights if self.phase.parts else None)
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.weights, self.clip_norm)
        self.adam.step()
        self.schedule.step()
        return loss.detach()


def first_model(task: Task, dataset: Any, split: Split, config: Any, seed: int) -> Trainable:
    """The model with the weights that a seed begins with. Global random state stays as it was."""
    refuse_giants(lambda: task.build(dataset, config), config)
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        model = task.build(dataset, config)
    model.check_phases()
    model.begin(dataset, split.train)
    return model


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


def _better(epoch: Epoch, best: Epoch, select_by: str, metric: str) -> bool:
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


class Evaluation:
    """Loss and metric on a fixed part of a set, whose batches are made once; NaN if it is empty."""

    def __init__(self, dataset: Dataset, ids: Tensor, batch_size: int) -> None:
        self.batches: Sequence[Any] = list(dataset.batches(ids, batch_size)) if len(ids) else ()
        self.rows: Rows = ()  # what the model gave that was evaluated last

    @torch.no_grad()
    def of(self, model: Trainable) -> tuple[float, float]:
        if not self.batches:
            return math.nan, math.nan
        model.eval()
        rows = zip(*(model.evaluate(batch) for batch in self.batches), strict=True)
        self.rows = tuple(torch.cat(parts) for parts in rows)
        loss, score = model.judge(*self.rows)
        return float(loss), float(score)


def cosine_with_warmup(step: int, *, warmup: float, total: float) -> float:
    """Factor of the learning rate at a step: linear from 0 to 1, then half a cosine to 0, which
    for a total of infinity stays at 1."""
    if step < warmup:
        return step / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return max(0.0, 0.5 * (1 + math.cos(math.pi * progress)))


def exponential_with_warmup(step: int, *, warmup: float, total: float) -> float:
    """Linear from 0 to 1, then the same share less in every step, until LAST_RATE is left."""
    if step < warmup:
        return step / warmup
    return float(LAST_RATE ** min(1.0, (step - warmup) / max(1, total - warmup)))


SCHEDULED = {"cosine": cosine_with_warmup, "exponential": exponential_with_warmup}
