"""R models of one architecture as one: weights with a leading replica axis, by vmap.

The model is an ordinary module; its operators know what a replica axis is
(`gmpool/ops/replicas.py`).
"""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from gmpool.nn.batch_norm import running_of
from gmpool.nn.clock import clocks_of
from gmpool.tasks.trainable import Phase, Trainable

ALIGNED = 32


class _Part(nn.Module):
    """One of the things that a model does, as a module: it is called with all weights and buffers
    of the model in their places."""

    def __init__(self, model: Trainable, does: str) -> None:
        super().__init__()
        self.model, self.does = model, does

    def forward(self, *args: Any) -> Any:
        return getattr(self.model, self.does)(*args)


class Block:
    """The weights that one phase moves, of all replicas, in one tensor [R, P]."""

    def __init__(self, model: Trainable, phase: Phase) -> None:
        named = [(name, p) for name, p in model.named_parameters() if phase.moves(name)]
        self.shapes = {name: p.shape for name, p in named}
        self.widths = [shape.numel() for shape in self.shapes.values()]
        # Every tensor begins at a multiple of ALIGNED numbers: matrix units read such ones fast.
        self.room = [math.ceil(width / ALIGNED) * ALIGNED for width in self.widths]

    def row(self, model: Trainable) -> Tensor:
        """The weights of one model. [P]"""
        weights = dict(model.named_parameters())
        row = torch.zeros(sum(self.room), dtype=next(model.parameters()).dtype)
        for part, name in zip(row.split(self.room), self.shapes, strict=True):
            part[: weights[name].numel()] = weights[name].detach().flatten()
        return row

    def by_name(self, weights: Tensor) -> dict[str, Tensor]:
        """Views of weights [..., P] by the parameter's name, each [..., *its shape]."""
        parts = zip(self.shapes.items(), weights.split(self.room, dim=-1), strict=True)
        return {
            name: part[..., : shape.numel()].unflatten(-1, shape) if shape else part[..., 0]
            for (name, shape), part in parts
        }

    def flat(self, grads: Any, weights: Tensor) -> Tensor:
        """Gradients of the views as one tensor like the weights; None is zeros. [R, P]"""
        R = weights.shape[0]
        zeros = weights.new_zeros(()).expand(R, max(self.room, default=0))
        parts: list[Tensor] = []
        for grad, width, room in zip(grads, self.widths, self.room, strict=True):
            parts.append(zeros[:, :width] if grad is None else grad.reshape(R, width))
            if room > width:
                parts.append(zeros[:, width:room])
        return torch.cat(parts, dim=1)


class Replicas:
    """The weights and buffers of R models, and what they compute together.

    weights: one tensor [R, P] for each phase.
    """

    def __init__(
        self, models: list[Trainable], device: torch.device, begins_as: list[int] | None = None
    ) -> None:
        """begins_as: the number of the model that each replica begins as; None: one of each."""
        self.model = deepcopy(models[0]).to(device)
        self.blocks = [Block(models[0], phase) for phase in self.model.phases]
        buffers = [dict(model.named_buffers()) for model in models]
        # What is alike goes to the device once, and is copied there.
        self.weights = [
            torch.stack([block.row(model) for model in models]).to(device) for block in self.blocks
        ]
        self.buffers = {
            name: torch.stack([b[name] for b in buffers]).to(device) for name in buffers[0]
        }
        self.clocks, self.running = clocks_of(self.model), running_of(self.model)
        if begins_as is not None:
            self.keep(torch.tensor(begins_as, device=device))

    @property
    def count(self) -> int:
        return self.weights[0].shape[0]

    @property
    def statistics(self) -> list[Tensor]:
        """The buffers that steps move. Each [R, n]"""
        return [self.buffers[name] for name in self.running]

    @property
    def learned(self) -> list[Tensor]:
        """The weights, and what else steps move. Each [R, n]"""
        return [*self.weights, *self.statistics]

    def take(self, learned: list[Tensor]) -> None:
        """Go on with these in place of what was learned."""
        self.weights = learned[: len(self.blocks)]
        running = zip(self.running, learned[len(self.blocks) :], strict=True)
        self.buffers = {**self.buffers, **dict(running)}

    def filled(self, model: Trainable, rows: list[Tensor]) -> Trainable:
        """A model like this one with what a replica learned, [n] each; weights are not copied."""
        views = {
            k: v
            for b, row in zip(self.blocks, rows, strict=False)
            for k, v in b.by_name(row).items()
        }
        known = {
            id(p): nn.Parameter(views[name])
            for name, p in model.named_parameters()
            if name in views
        }
        made = deepcopy(model, known)
        for name, row in zip(self.running, rows[len(self.blocks) :], strict=True):
            made.get_buffer(name).copy_(row)
        return made

    def _views(self, moved: int | None = None) -> list[dict[str, Tensor]]:
        """The weights by name, block by block; those of the phase that is moved want gradients."""
        views = [b.by_name(w) for b, w in zip(self.blocks, self.weights, strict=True)]
        if moved is not None:
            views[moved] = {k: v.detach().requires_grad_() for k, v in views[moved].items()}
        return views

    def _together(
        self,
        does: str,
        views: list[dict[str, Tensor]],
        args: Callable[[Any], tuple[Any, ...]],
        each: Any,
    ) -> Any:
        """What the model does, for all replicas. each: what is given to each, the axis first."""
        part = _Part(self.model, does)
        weights = {k: v for view in views for k, v in view.items()}

        def one(weights: dict[str, Tensor], buffers: dict[str, Tensor], each: Any) -> Any:
            state = {f"model.{name}": t for name, t in {**weights, **buffers}.items()}
            return functional_call(part, state, args(each))

        return vmap(one, randomness="different")(weights, self.buffers, each)

    def gradients(self, batch: Any, at: int) -> tuple[Tensor, Tensor]:
        """(losses [R], gradients [R, P]) of the phase of this number"""
        self.model.train()
        phase, views = self.model.phases[at], self._views(at)
        losses = self._together(
            "loss", views, lambda tensors: (batch.with_(tensors), phase), batch.tensors()
        )
        # Replicas share nothing, so that the gradient of the sum holds each one's own.
        grads = torch.autograd.grad(losses.sum(), list(views[at].values()), allow_unused=True)
        return losses.detach(), self.blocks[at].flat(grads, self.weights[at])

    @torch.no_grad()
    def evaluate(self, batch: Any) -> tuple[Tensor, ...]:
        """Rows, each [R, n, ...]."""
        self.model.eval()
        rows: tuple[Tensor, ...] = self._together(
            "evaluate", self._views(), lambda tensors: (batch.with_(tensors),), batch.tensors()
        )
        return rows

    @torch.no_grad()
    def sample(self, numbers: Tensor) -> list[Tensor]:
        """What each makes of the numbers [n]. Each [R, n, ...]"""
        self.model.eval()
        each = [numbers.expand(self.count, -1)]
        return list(self._together("sample", self._views(), tuple, each))

    @torch.no_grad()
    def judge(self, rows: list[Tensor]) -> tuple[Tensor, Tensor]:
        """(losses, scores), both float64 [R]"""
        losses, scores = self._together("judge", self._views(), tuple, rows)
        return losses.double(), scores.double()

    def set_clocks(self, steps: Tensor) -> None:
        """Before a step, of which each replica has done so many. [R]"""
        for name in self.clocks:
            self.buffers[name].copy_(steps)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows."""
        self.weights = [block.index_select(0, rows) for block in self.weights]
        self.buffers = {k: v.index_select(0, rows) for k, v in self.buffers.items()}
