"""Graph classification and regression: a network from nodes to graph vectors, and a classifier."""

from typing import Any

import torch
from torch import Tensor

from gmpool.data import PackedGraphs
from gmpool.data.dataset import metric_for
from gmpool.data.fixed_batch import FixedBatch
from gmpool.data.sources.descriptors import with_descriptors
from gmpool.errors import UserError
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.nn.feature_scale import FeatureScale
from gmpool.nn.heads import classifier
from gmpool.pool.method import Pooled
from gmpool.tasks.classify.class_weights import balanced_weights, weight_of
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
    class_weights: Tensor

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__()
        self.shape, self.config = shape, config
        self.metric = metric_for(shape.task, shape.num_outputs)
        self.network = make_network(shape, config)
        width, features = self.network.out_dim, shape.graph_features
        self.features = FeatureScale(features) if features else None
        self.head = classifier(
            width + features, config.hidden_dim, shape.num_outputs, dropout=config.dropout
        )
        # Regression targets are learned at mean 0 and deviation 1 of the training labels.
        self.scales_targets = shape.task == "regression"
        self.register_buffer("target_mean", torch.zeros(shape.num_outputs))
        self.register_buffer("target_std", torch.ones(shape.num_outputs))
        self.balances = config.class_weight is not None
        if self.balances:
            if self.scales_targets:
                raise UserError("class_weight is for classes, and these labels are numbers")
            classes = (shape.num_outputs,) if shape.task == "multiclass" else (2, shape.num_outputs)
            self.register_buffer("class_weights", torch.ones(classes))
        self.begins_by_split = self.scales_targets or self.balances or bool(features)

    def begin(self, dataset: Any, ids: Tensor) -> None:
        graphs = dataset.graphs
        if self.scales_targets:
            self.fit_target_scale(graphs.y[ids.to(graphs.y.device)].to("cpu"))
        if self.balances:
            found = graphs.y[ids.to(graphs.y.device)].to("cpu")
            self.class_weights.copy_(balanced_weights(found, self.class_weights.shape))
        if self.features is not None:
            self.features.fit(graphs.graph_float[ids.to(graphs.y.device)].to("cpu"))

    def fit_target_scale(self, y: Tensor) -> None:
        """Take mean and deviation from the training labels y [G, T]; NaN is a missing label."""
        mean = y.nanmean(0)
        std = ((y - mean) ** 2).nanmean(0).sqrt()
        self.target_mean.copy_(mean.nan_to_num(0.0))
        self.target_std.copy_(torch.where(std > 0, std, 1.0))

    def prepared(self, graphs: PackedGraphs) -> PackedGraphs:
        """New graphs as the model reads them; raises if they are of another kind."""
        return with_descriptors(self.shape.fit(graphs), self.config.descriptors)

    def embed(self, batch: Batch) -> Tensor:
        """The vectors that the pooling gives. [B, D]"""
        pooled: Pooled = self.network(batch.x, BatchEdges(batch), batch_segments(batch))
        return pooled.x

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """(predictions [B, C] or [B, T], auxiliary losses by name)"""
        pooled = self.network(batch.x, BatchEdges(batch), batch_segments(batch))
        rows = pooled.x
        if self.features is not None:
            rows = torch.cat([rows, self.features(batch.graph_float)], dim=1)
        out = self.head(rows)
        # The last graph of a batch of fixed shape is made up.
        return out[:-1] if isinstance(batch, FixedBatch) else out, pooled.losses

    def labels(self, batch: Batch) -> Tensor:
        y: Tensor = batch.y
        return y

    def distance_in(self, batch: Batch, out: Tensor) -> Tensor:
        return self._distance(out, self.labels(batch), batch.graph_weight)

    def distance(self, out: Tensor, y: Tensor) -> Tensor:
        return self._distance(out, y, None)

    def _distance(self, out: Tensor, y: Tensor, of_graph: Tensor | None) -> Tensor:
        """of_graph: how much each graph counts. [B]"""
        weight = of_graph if of_graph is None or y.dim() == 1 else of_graph[:, None]
        if self.balances:
            of_label = weight_of(y, self.class_weights)
            weight = of_label if weight is None else of_label * weight
        return loss_of(self.shape.task, out, self._as_learned(y), weight)

    def _as_learned(self, y: Tensor) -> Tensor:
        """Labels in the unit of the outputs."""
        return (y - self.target_mean) / self.target_std if self.scales_targets else y

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        if self.metric != "nrmse":
            return super().judge(*rows)
        out, y = rows
        score = metrics_of(self.metric, out[None], self._as_learned(y)[None])[0]
        return self.distance(out, y), score

    def in_label_units(self, out: Tensor) -> Tensor:
        """Outputs as the labels were given; logits stay logits."""
        return out * self.target_std + self.target_mean if self.scales_targets else out
