"""What the engine asks of a task's data, of batches for a stack, and of who watches a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from torch import Tensor

from gmpool.tasks.trainable import Rows


class Dataset(Protocol):
    """What the engine asks of data: a task's examples by number, in batches of its own sampler."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    def __len__(self) -> int: ...

    def to(self, device: str) -> Dataset: ...

    def batches(self, ids: Tensor, batch_size: int, generator: Any = None) -> Iterator[Any]: ...


class FixedBatches(Protocol):
    """Batches of one shape for many replicas, made on the device of the data.

    empty: the number that stands for no example. It may have `kinds(ids [R, T, B])`, which says of
    each of T steps how large its batches are, 0 the smallest, [T]: then each kind has bounds of its
    own. A batch has `tensors()`, each with the replica
    axis first, and `with_(tensors)`, the same batch of one replica.
    """

    @property
    def empty(self) -> int: ...

    def bounds(self, ids: Tensor) -> Any: ...

    def make(self, ids: Tensor, bounds: Any) -> Any: ...


class Watch(Protocol):
    """Sees what a model makes of nothing (`Trainable.sample`) after every epoch of a run.

    numbers: of what is made, [n]; the same after every epoch.
    """

    numbers: Tensor

    def see(self, epoch: int, rows: Rows) -> None:
        """rows: on the host. The training goes on meanwhile as far as it can."""

    def said(self) -> tuple[float, dict[str, Any]]:
        """(the score that counts as the test's, what more the row says) when the run has ended."""
