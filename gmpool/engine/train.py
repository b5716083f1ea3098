"""One training: a pure function of model, data, split, configuration and seed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from gmpool.config import AutoencoderConfig, ModelConfig, TrainConfig
from gmpool.data import PackedGraphs, Split, epoch_batches
from gmpool.engine.schedule import cosine_with_warmup
from gmpool.errors import UserError
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.metrics import HIGHER_IS_BETTER, metric_of
from gmpool.tasks.reconstruct.model import Autoencoder
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Trainable

AnyModelConfig = ModelConfig | AutoencoderConfig


@dataclass(frozen=True)
class Epoch:
    """What one epoch showed: the points of a learning curve."""

    epoch: int
    train_loss: float
    valid_loss: float
    valid_metric: float


@dataclass
class Trained:
    """A finished training: the model at its best validation, and how it got there."""

    model: Trainable
    best: Epoch
    test_metric: float
    test_loss: float
    seconds: float
    curve: list[Epoch] = field(default_factory=list)
    replicas: int = 1
    """How many runs were one program with this one; its seconds are a share of theirs."""


def train(
    graphs: PackedGraphs,
    split: Split,
    model_config: AnyModelConfig,
    config: TrainConfig,
    *,
    metric: str,
    seed: int,
    device: str = "cpu",
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Trained:
    """Train to the stopping rule, and test the weights that were best on the validation part.

    Global random state is left as it was: initial weights and dropout draw from a forked stream,
    and the order of batches from a generator of its own, both seeded with `seed`.
    """
    for part in ("train", "valid", "test"):
        if not len(getattr(split, part)):
            raise UserError(f"the {part} part of the split of {graphs.name} is empty")
    start = time.perf_counter()
    devices = [] if torch.device(device).type == "cpu" else [torch.device(device)]
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        trained = _train(graphs.to(device), split, model_config, config, metric, seed, on_epoch)
    trained.seconds = time.perf_counter() - start
    return trained


def _train(
    graphs: PackedGraphs,
    split: Split,
    model_config: AnyModelConfig,
    config: TrainConfig,
    metric: str,
    seed: int,
    on_epoch: Callable[[Epoch], None] | None,
) -> Trained:
    model = first_model(graphs, split, model_config, seed).to(graphs.device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True
    )
    steps = math.ceil(len(split.train) / config.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: cosine_with_warmup(
            step, warmup=config.warmup_epochs * steps, total=config.cosine_epochs * steps
        ),
    )
    shuffle = torch.Generator().manual_seed(seed)
    valid = Evaluation(graphs, split.valid, config.batch_size, metric)
    curve: list[Epoch] = []
    best: Epoch | None = None
    best_state: dict[str, Tensor] = {}
    for number in range(1, config.epochs + 1):
        model.train()
        losses = []
        for batch in epoch_batches(graphs, split.train, config.batch_size, shuffle):
            optimizer.zero_grad(set_to_none=True)
            out, auxiliary = model(batch)
            loss = model.loss(out, model.labels(batch)) + sum(auxiliary.values())
            loss.backward()
            if config.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            optimizer.step()
            schedule.step()
            losses.append(loss.detach() * batch.num_graphs)
        train_loss = float(torch.stack(losses).sum()) / len(split.train)
        epoch = Epoch(number, train_loss, *valid.of(model))
        failure = loss_error(epoch, graphs.name, config)
        if failure:
            raise failure
        curve.append(epoch)
        if best is None or _better(epoch, best, config.select_by, metric):
            best = epoch
            best_state = {k: v.detach().clone() for k, v in model.state_dict().items()}
        if on_epoch:
            on_epoch(epoch)
        if config.patience is not None and number - best.epoch >= config.patience:
            break
    assert best is not None
    model.load_state_dict(best_state)
    test = Evaluation(graphs, split.test, config.batch_size, metric)
    test_loss, test_metric = test.of(model)
    return Trained(model, best, test_metric, test_loss, 0.0, curve)


def first_model(
    graphs: PackedGraphs,
    split: Split,
    config: AnyModelConfig,
    seed: int,
    shape: DataShape | None = None,
) -> Trainable:
    """The model with the weights that a seed begins with. Global random state stays as it was.

    shape: that of the graphs, for who knows it already.
    """
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        if isinstance(config, AutoencoderConfig):
            return Autoencoder(shape or shape_for(graphs, config), config)
        model = GraphModel(shape or shape_for(graphs, config), config)
    if model.shape.task == "regression":
        assert graphs.y is not None
        model.fit_target_scale(graphs.y[split.train.to(graphs.device)].to("cpu"))
    return model


def shape_for(graphs: PackedGraphs, config: AnyModelConfig) -> DataShape:
    """What a model of this configuration must know of the graphs."""
    return DataShape.of(graphs, labelled=isinstance(config, ModelConfig))


def loss_error(epoch: Epoch, name: str, config: TrainConfig) -> UserError | None:
    """What to tell the user when an epoch's loss is not a number."""
    for part, loss in (("training", epoch.train_loss), ("validation", epoch.valid_loss)):
        if not math.isfinite(loss):
            return UserError(
                f"the {part} loss became {loss} in epoch {epoch.epoch} on {name}; "
                f"try a smaller lr than {config.lr}"
            )
    return None


def _better(epoch: Epoch, best: Epoch, select_by: str, metric: str) -> bool:
    """Strictly better; a metric that is not defined never is, and loses to one that is."""
    if select_by == "loss":
        return epoch.valid_loss < best.valid_loss
    if math.isnan(best.valid_metric):
        return not math.isnan(epoch.valid_metric)
    if HIGHER_IS_BETTER[metric]:
        return epoch.valid_metric > best.valid_metric
    return epoch.valid_metric < best.valid_metric


class Evaluation:
    """Loss and metric on a fixed part of a set, whose batches are made once."""

    def __init__(self, graphs: PackedGraphs, ids: Tensor, batch_size: int, metric: str) -> None:
        self.batches = list(epoch_batches(graphs, ids, batch_size))
        self.metric = metric

    @torch.no_grad()
    def of(self, model: Trainable) -> tuple[float, float]:
        model.eval()
        out = torch.cat([model(batch)[0] for batch in self.batches])
        y = torch.cat([model.labels(batch) for batch in self.batches])
        return float(model.loss(out, y)), metric_of(self.metric, model.in_label_units(out), y)
