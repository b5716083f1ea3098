"""Graph classification and regression: a network from nodes to graph vectors, and a classifier."""

from __future__ import annotations

import torch
from torch import Tensor

from gmpool.config import ModelConfig
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.nn.heads import classifier
from gmpool.tasks.classify.networks import make_network
from gmpool.tasks.metrics import loss_of
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import AnyBatch, Trainable


class GraphModel(Trainable):
    """The network of a pooling method, and one classifier."""

    target_mean: Tensor
    target_std: Tensor

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__()
        self.shape, self.config = shape, config
        self.network = make_network(shape, config)
        self.head = classifier(
            self.network.out_dim, config.hidden_dim, shape.num_outputs, dropout=config.dropout
        )
        # Regression targets are learned at mean 0 and deviation 1 of the training labels.
        self.register_buffer("target_mean", torch.zeros(shape.num_outputs))
        self.register_buffer("target_std", torch.ones(shape.num_outputs))

    def forward(self, batch: AnyBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """(predictions [B, C] or [B, T], auxiliary losses by name)"""
        pooled = self.network(batch.x, BatchEdges(batch), batch_segments(batch))
        return self.head(pooled.x), pooled.losses

    def counted(self, out: Tensor) -> Tensor:
        """All graphs but the last, which is made up."""
        return out[:-1]

    def labels(self, batch: AnyBatch) -> Tensor:
        assert batch.y is not None
        return batch.y

    def fit_target_scale(self, y: Tensor) -> None:
        """Take mean and deviation from the training labels y [G, T]; NaN is a missing label."""
        if self.shape.task != "regression":
            return
        mean = y.nanmean(0)
        std = ((y - mean) ** 2).nanmean(0).sqrt()
        self.target_mean.copy_(mean.nan_to_num(0.0))
        self.target_std.copy_(torch.where(std > 0, std, 1.0))

    def loss(self, out: Tensor, y: Tensor) -> Tensor:
        if self.shape.task == "regression":
            y = (y - self.target_mean) / self.target_std
        return loss_of(self.shape.task, out, y)

    def in_label_units(self, out: Tensor) -> Tensor:
        """Outputs as the labels were given; logits stay logits."""
        return out * self.target_std + self.target_mean if self.shape.task == "regression" else out
