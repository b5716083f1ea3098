"""What the engine asks of a model, so that one training loop serves every task.

A model turns a batch into rows of outputs, one row per graph or one per node, and says itself what
those rows should have been. Rows that do not count have labels that are missing: NaN, or a negative
number where labels are classes.
"""

from __future__ import annotations

from torch import Tensor, nn

from gmpool.config import AutoencoderConfig, ModelConfig
from gmpool.data import GraphBatch
from gmpool.data.fixed_batch import FixedBatch
from gmpool.tasks.shape import DataShape

AnyBatch = GraphBatch | FixedBatch


class Trainable(nn.Module):
    """A model that can be trained alone and stacked."""

    shape: DataShape
    config: ModelConfig | AutoencoderConfig

    def forward(self, batch: AnyBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """(outputs [n, ...], auxiliary losses by name)"""
        raise NotImplementedError

    def counted(self, out: Tensor) -> Tensor:
        """The rows of a FixedBatch's outputs that have labels."""
        raise NotImplementedError

    def labels(self, batch: AnyBatch) -> Tensor:
        """What the outputs should be, for the rows that are counted. [n, ...]"""
        raise NotImplementedError

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        """Mean over the rows whose labels are there; auxiliary losses are not in it."""
        raise NotImplementedError

    def in_label_units(self, out: Tensor) -> Tensor:
        """Outputs as the labels were given, for the metric."""
        return out

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())
