"""Modules whose random numbers are a function of a seed and a clock, not of who else draws:
dropout, and clusters drawn at random.

What they draw in a step depends on nothing else that runs in the same program: stacked and alone,
a replica draws the same.
"""

import math

import torch
from torch import Tensor, nn

from gmpool.errors import UserError
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.ops.segment import Segments

# Odd multipliers of splitmix64 (Steele, Lea & Flood, 2014), as signed numbers.
STEP, _MIX, _MIX_AGAIN = -7046029254386353131, -4658895280553007687, -7723592293110705685


class Clocked(KeepsOptions):
    """Has a seed of its own, drawn when it is made, and a clock that the engine sets before each
    step; who trains it otherwise need not care.

    keep_seed: whether the seed is saved with the weights.
    """

    seed: Tensor
    clock: Tensor

    def __init__(self, *, keep_seed: bool = False) -> None:
        super().__init__()
        self.register_buffer("seed", torch.randint(2**62, ()), persistent=keep_seed)
        self.register_buffer("clock", torch.zeros((), dtype=torch.int64), persistent=False)

    def tick(self) -> Tensor:
        """The key of the next draw: other numbers in every call. []"""
        self.clock.add_(1)
        return self.seed + self.clock * STEP


def clocks_of(model: nn.Module) -> list[str]:
    """The names of the clocks among a model's buffers."""
    named = model.named_modules()
    return [f"{name}.clock".lstrip(".") for name, part in named if isinstance(part, Clocked)]


def set_clocks(model: nn.Module, step: int) -> None:
    for part in model.modules():
        if isinstance(part, Clocked):
            part.clock.fill_(step)


def set_places(model: nn.Module, graphs_before: int, nodes_before: int) -> None:
    """The model is given a part of a batch: so many graphs and nodes lie before it."""
    for part in model.modules():
        if isinstance(part, Dropout):
            part.graphs_before, part.nodes_before = graphs_before, nodes_before


def uniform(key: Tensor, place: Tensor) -> Tensor:
    """Numbers in [0, 1), one for each place, by hashing it with the key. float32"""
    h = (place + key) * STEP
    h = (h ^ _shifted(h, 30)) * _MIX
    h = (h ^ _shifted(h, 27)) * _MIX_AGAIN
    return _shifted(h ^ _shifted(h, 31), 40).float() / 2**24


def _shifted(h: Tensor, by: int) -> Tensor:
    """h >> by as if h had no sign."""
    return (h >> by) & (2 ** (64 - by) - 1)


def check_dropout(rate: float) -> None:
    if not 0 <= rate < 1:
        raise UserError(f"dropout must lie in [0, 1), got {rate}")


class Dropout(Clocked):
    """Each number becomes 0 with probability `rate`, and is divided by 1 − rate otherwise.

    What a row draws depends on where it lies in its batch, of which the model may have a part.

    rate: in [0, 1); the attribute is a tensor: replicas may have rates of their own.
    rows_per_graph: so many rows each graph has; none: rows are nodes, unless a call says otherwise.
    """

    rate: Tensor

    def __init__(self, rate: float, *, rows_per_graph: int | None = None) -> None:
        super().__init__()
        check_dropout(rate)
        self.rows_per_graph = rows_per_graph
        self.graphs_before = self.nodes_before = 0
        self.register_buffer("rate", torch.tensor(float(rate)), persistent=False)

    def forward(self, x: Tensor, rows_per_graph: int | None = None) -> Tensor:
        if not self.training:
            return x
        rows = rows_per_graph or self.rows_per_graph
        before = self.graphs_before * rows if rows else self.nodes_before
        first = before * x.shape[1:].numel()
        place = torch.arange(first, first + x.numel(), device=x.device).view(x.shape)
        number = uniform(self.tick(), place)
        rate = self.rate.to(x.dtype)
        return torch.where(number < rate, 0.0, x / (1 - rate))


ROOM = 2**40
"""Numbers that one graph may need; graphs lie that far apart."""


class RandomAssignment(Clocked):
    """Shares C [N, K] of each node, other ones for every graph. They are drawn anew in every step
    of a training, and are always the same in evaluation.

    They are a softmax of standard normal numbers, which nothing trains. Each number is a hash of
    (seed, step, graph, node, cluster): it does not depend on the other graphs of a batch.

    num_clusters: K.
    """

    def __init__(self, num_clusters: int) -> None:
        super().__init__(keep_seed=True)  # an evaluation must find the same clusters again
        self.num_clusters = num_clusters

    def forward(self, ids: Tensor, segments: Segments, dtype: torch.dtype) -> Tensor:
        """ids [B]: the numbers of the graphs in their set; nodes lie graph after graph. [N, K]"""
        key, K = self.tick() if self.training else self.seed, self.num_clusters
        batch = segments.batch
        node = torch.arange(batch.shape[0], device=batch.device)
        node = node - segments.ptr.index_select(0, batch)  # within its graph
        first = ids.index_select(0, batch) * ROOM + node * K  # [N]
        cluster = torch.arange(K, device=batch.device)
        return normal(key, first[:, None] + cluster).to(dtype).softmax(1)


def normal(key: Tensor, place: Tensor) -> Tensor:
    """Standard normal numbers, one for each place, by hashing it with the key. float32"""
    return from_uniform(uniform(key, place))


def from_uniform(u: Tensor) -> Tensor:
    """Normal numbers by the inverse of their distribution; u is a multiple of 2^-24 in [0, 1).

    Half a step is added, so that -1 and 1, where the inverse has no end, are never reached. In this
    order every sum is exact in float32.
    """
    return math.sqrt(2) * torch.erfinv(2 * u - 1 + 2.0**-24)
