"""Batch norm over the rows of a batch that count."""

import torch
from torch import Tensor, nn

from gmpool.errors import UserError, unknown
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.segment import Segments

MOMENTUM, EPS = 0.1, 1e-5
INSIDE, AFTER, BOTH = PLACES = ("inside", "after", "both")
"""Where an encoder may have them: inside the two linear maps of a GIN, as the convolution says, or
after each convolution, before its ReLU."""


def check_place(place: str | None, conv: object, num_layers: int) -> None:
    """Raises if an encoder has no such place. None: it has no batch norms."""
    if place is None:
        return
    if place not in PLACES:
        raise unknown("place of batch norms", place, PLACES)
    if num_layers == 0:
        raise UserError(f"batch_norm={place} is of convolutions, and num_layers=0 has none")
    if place != AFTER and conv != "gin":
        raise UserError(
            f"batch_norm={place}: only conv=gin has two linear maps to norm inside of, got "
            f"conv={conv}; take batch_norm={AFTER}"
        )


def norms_after(place: str | None, dim: int, num_layers: int) -> nn.ModuleList | None:
    """One for each convolution of an encoder."""
    if place not in (AFTER, BOTH):
        return None
    return nn.ModuleList(BatchNorm(dim) for _ in range(num_layers))


class BatchNorm(KeepsOptions):
    """Each column at mean 0 and deviation 1, then scaled and moved (Ioffe & Szegedy, 2015). [N, D]

    In training by mean and variance of the rows that count, which running ones follow by a tenth in
    each step; in evaluation by the running ones. As PyTorch's, but that rows may not count, and
    that one row alone is allowed: it has no variance.

    dim: D.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))

    def forward(self, x: Tensor, counts: Tensor | None = None) -> Tensor:
        """counts [N]: 1 for a row that counts, 0 for one that fills up a batch; None: all do."""
        mean, var = self.running_mean, self.running_var
        if self.training:
            there = x.new_ones(x.shape[0], 1) if counts is None else counts.to(x.dtype)[:, None]
            x = torch.where(there > 0, x, 0.0)  # what fills up a batch may be anything
            mean, var = self._of_batch(x, there)
        return (x - mean) * (self.weight * (var + EPS).rsqrt()) + self.bias

    def _of_batch(self, x: Tensor, there: Tensor) -> tuple[Tensor, Tensor]:
        """(mean, variance) of the batch, which the running ones follow. there [N, 1]; both [D]"""
        number = there.sum()
        mean = x.sum(0) / number.clamp(min=1)
        squares = ((x - mean) * there).square().sum(0)
        found = {"running_mean": mean, "running_var": squares / (number - 1).clamp(min=1)}
        for name, value in found.items():
            running = self.get_buffer(name)
            running.copy_(torch.lerp(running, value.detach().to(running.dtype), MOMENTUM))
        return mean, squares / number.clamp(min=1)


def running_of(model: nn.Module) -> list[str]:
    """The names of the buffers of a model that follow its batches."""
    named = [(name, part) for name, part in model.named_modules() if isinstance(part, BatchNorm)]
    buffers = ("running_mean", "running_var")
    return [f"{name}.{buffer}".lstrip(".") for name, _ in named for buffer in buffers]


def rows_that_count(segments: Segments) -> Tensor | None:
    """1 for rows of graphs that are there, 0 for those that fill up a batch. [N]; None: all are."""
    if segments.real is None:
        return None
    return segments.real.index_select(0, segments.batch)
