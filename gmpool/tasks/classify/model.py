"""Graph classification and regression: a network from nodes to graph vectors, and a classifier."""

from typing import Any

import torch
from torch import Tensor

from gmpool.data.dataset import metric_for
from gmpool.data.fixed_batch import FixedBatch
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.nn.heads import classifier
from gmpool.tasks.classify.networks import make_network
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.metrics import loss_of, metrics_of
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Batch, Supervised


class GraphModel(Supervised):
    """The network of a pooling method, and one classifier."""

    shape: DataShape
    config: ModelConfig
    target_mean: Tensor
    target_std: Tensor

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__()
        self.shape, self.config = shape, config
        self.metric = metric_for(shape.task, shape.num_outputs)
        self.network = make_network(shape, config)
        self.head = classifier(
            self.network.out_dim, config.hidden_dim, shape.num_outputs, dropout=config.dropout
        )
        # Regression targets are learned at mean 0 and deviation 1 of the training labels.
        self.begins_by_split = shape.task == "regression"
        self.register_buffer("target_mean", torch.zeros(shape.num_outputs))
        self.register_buffer("target_std", torch.ones(shape.num_outputs))

    def begin(self, dataset: Any, ids: Tensor) -> None:
        y = dataset.graphs.y
        if self.begins_by_split:
            self.fit_target_scale(y[ids.to(y.device)].to("cpu"))

    def fit_target_scale(self, y: Tensor) -> None:
        """Take mean and deviation from the training labels y [G, T]; NaN is a missing label."""
        mean = y.nanmean(0)
        std = ((y - mean) ** 2).nanmean(0).sqrt()
        self.target_mean.copy_(mean.nan_to_num(0.0))
        self.target_std.copy_(torch.where(std > 0, std, 1.0))

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """(predictions [B, C] or [B, T], auxiliary losses by name)"""
        pooled = self.network(batch.x, BatchEdges(batch), batch_segments(batch))
        out = self.head(pooled.x)
        # The last graph of a batch of fixed shape is made up.
        return out[:-1] if isinstance(batch, FixedBatch) else out, pooled.losses

    def labels(self, batch: Batch) -> Tensor:
        y: Tensor = batch.y
        return y

    def distance(self, out: Tensor, y: Tensor) -> Tensor:
        return loss_of(self.shape.task, out, self._as_learned(y))

    def _as_learned(self, y: Tensor) -> Tensor:
        """Labels in the unit of the outputs."""
        return (y - self.target_mean) / self.target_std if self.begins_by_split else y

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        if self.metric != "nrmse":
            return super().judge(*rows)
        out, y = rows
        score = metrics_of(self.metric, out[None], self._as_learned(y)[None])[0]
        return self.distance(out, y), score

    def in_label_units(self, out: Tensor) -> Tensor:
        """Outputs as the labels were given; logits stay logits."""
        return out * self.target_std + self.target_mean if self.begins_by_split else out
