"""R models of one architecture as one: weights with a leading replica axis, by vmap.

The model is an ordinary module; its operators know what a replica axis is
(`gmpool/ops/replicas.py`).
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from gmpool.data.fixed_batch import FixedBatch
from gmpool.tasks.trainable import Trainable

ALIGNED = 32


class _WithLoss(nn.Module):
    """A model that also gives its loss, so that one call reads all its weights and buffers."""

    def __init__(self, model: Trainable) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: FixedBatch) -> tuple[Tensor, Tensor, Tensor]:
        """(loss, the outputs that count [n, C], their labels [n, ...])"""
        out, auxiliary = self.model(batch)
        out, y = self.model.counted(out), self.model.labels(batch)
        return self.model.loss(out, y) + sum(auxiliary.values()), out, y


class _Judge(nn.Module):
    """What is said of outputs that are there already, by the model's buffers alone."""

    def __init__(self, model: Trainable) -> None:
        super().__init__()
        self.model = model

    def forward(self, out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(loss, outputs in the units of the labels)"""
        return self.model.loss(out, y), self.model.in_label_units(out)


class Replicas:
    """The weights [R, P] and buffers of R models, and what they compute together."""

    def __init__(
        self, models: list[Trainable], device: torch.device, begins_as: list[int] | None = None
    ) -> None:
        """begins_as: the number of the model that each replica begins as; None: one of each."""
        self.module = _WithLoss(deepcopy(models[0])).to(device)
        self.judge = _Judge(self.module.model)
        self.shapes = {name: p.shape for name, p in self.module.named_parameters()}
        self.widths = [shape.numel() for shape in self.shapes.values()]
        # Every tensor begins at a multiple of ALIGNED numbers: matrix units read such ones fast.
        self.room = [math.ceil(width / ALIGNED) * ALIGNED for width in self.widths]
        buffers = [dict(_WithLoss(m).named_buffers()) for m in models]
        # What is alike goes to the device once, and is copied there.
        self.weights = torch.stack([self.as_row(model) for model in models]).to(device)
        self.buffers = {
            name: torch.stack([b[name] for b in buffers]).to(device) for name in buffers[0]
        }
        if begins_as is not None:
            self.keep(torch.tensor(begins_as, device=device))

    @property
    def count(self) -> int:
        return self.weights.shape[0]

    def as_row(self, model: Trainable) -> Tensor:
        """The weights of one model as a row of `weights`. [P]"""
        row = torch.zeros(sum(self.room), dtype=next(model.parameters()).dtype)
        for part, parameter in zip(row.split(self.room), model.parameters(), strict=True):
            part[: parameter.numel()] = parameter.detach().flatten()
        return row

    def filled(self, model: Trainable, row: Tensor) -> Trainable:
        """A model like this one with the weights of a row [P], which are not copied."""
        parts = zip(row.split(self.room), model.parameters(), strict=True)
        known = {id(p): nn.Parameter(part[: p.numel()].view(p.shape)) for part, p in parts}
        return deepcopy(model, known)

    def by_name(self, weights: Tensor) -> dict[str, Tensor]:
        """Views of the weights [R, P], each [R, ...]."""
        parts = zip(self.shapes.items(), weights.split(self.room, dim=1), strict=True)
        return {
            name: part[:, : shape.numel()].unflatten(1, shape) if shape else part[:, 0]
            for (name, shape), part in parts
        }

    def _each(self, weights: dict[str, Tensor], batch: FixedBatch) -> tuple[Tensor, Tensor, Tensor]:
        """(losses [R], outputs [R, n, C], labels [R, n, ...])"""

        def one(
            weights: dict[str, Tensor], buffers: dict[str, Tensor], tensors: dict[str, Tensor]
        ) -> Any:
            return functional_call(self.module, {**weights, **buffers}, (batch.with_(tensors),))

        together = vmap(one, randomness="different")
        return together(weights, self.buffers, batch.tensors())

    def gradients(self, batch: FixedBatch) -> tuple[Tensor, Tensor]:
        """(losses [R], gradients [R, P])"""
        self.module.train()
        views = {k: v.detach().requires_grad_() for k, v in self.by_name(self.weights).items()}
        losses, *_ = self._each(views, batch)
        # Replicas share nothing, so that the gradient of the sum holds each one's own.
        grads = torch.autograd.grad(losses.sum(), list(views.values()), allow_unused=True)
        zeros = self.weights.new_zeros(()).expand(self.count, max(self.room))
        parts: list[Tensor] = []
        for grad, width, room in zip(grads, self.widths, self.room, strict=True):
            parts.append(zeros[:, :width] if grad is None else grad.reshape(self.count, width))
            if room > width:
                parts.append(zeros[:, width:room])
        flat = torch.cat(parts, dim=1)
        return losses.detach(), flat

    @torch.no_grad()
    def predict(self, batch: FixedBatch) -> tuple[Tensor, Tensor]:
        """(outputs [R, n, C], labels [R, n, ...])"""
        self.module.eval()
        _, out, y = self._each(self.by_name(self.weights), batch)
        return out, y

    @torch.no_grad()
    def judge_all(self, out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """(losses [R], outputs in the units of the labels); auxiliary losses are left out."""

        def one(buffers: dict[str, Tensor], out: Tensor, y: Tensor) -> Any:
            return functional_call(self.judge, buffers, (out, y))

        return vmap(one)(self.buffers, out, y)

    def set_clock(self, clock: Tensor) -> None:
        """Dropout's clocks follow the number of steps that each replica has done."""
        for name, buffer in self.buffers.items():
            if name.endswith(".clock"):
                buffer.copy_(clock)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows."""
        self.weights = self.weights.index_select(0, rows)
        self.buffers = {k: v.index_select(0, rows) for k, v in self.buffers.items()}
