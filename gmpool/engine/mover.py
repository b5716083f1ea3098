"""What moves the weights of one phase: Adam, with a norm clip and the schedule of the rate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gmpool.config import LAST_RATE, TrainConfig
from gmpool.engine.hands import Hands
from gmpool.tasks.trainable import Phase, Trainable


class Mover:
    """steps: of an epoch. hands: who does them."""

    def __init__(
        self, model: Trainable, phase: Phase, config: TrainConfig, steps: int, hands: Hands
    ) -> None:
        self.model, self.phase, self.hands = model, phase, hands
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
        loss = self.hands.gradients(self.model, batch, self.phase, self.weights)
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.weights, self.clip_norm)
        self.adam.step()
        self.schedule.step()
        return loss

    def state(self) -> dict[str, Tensor]:
        """What a later step depends on, but for the weights."""
        found = {"steps": torch.tensor(self.schedule.last_epoch)}
        for number, weight in enumerate(self.weights):
            for name, value in self.adam.state.get(weight, {}).items():
                found[f"{number}.{name}"] = value
        return found

    def go_on(self, state: Mapping[str, Tensor]) -> None:
        """From a state, as after the step that it was taken at."""
        for number, weight in enumerate(self.weights):
            of_weight = {
                name.removeprefix(f"{number}."): value
                for name, value in state.items()
                if name.startswith(f"{number}.")
            }
            if of_weight:
                self.adam.state[weight] = {
                    name: value.to(weight.device) for name, value in of_weight.items()
                }
        self.schedule.last_epoch = int(state["steps"])
        (factor,) = self.schedule.lr_lambdas
        for group, base in zip(self.adam.param_groups, self.schedule.base_lrs, strict=True):
            group["lr"] = base * factor(self.schedule.last_epoch)


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
