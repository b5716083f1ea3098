"""Graph classification and regression: encoder, pooling, classifier."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gmpool.config import ModelConfig
from gmpool.data import GraphBatch, PackedGraphs
from gmpool.data.categories import with_categories
from gmpool.errors import CheckpointError, DataError
from gmpool.nn.batch_edges import BatchEdges, batch_segments
from gmpool.nn.encoder import Encoder, MoleculeEncoder
from gmpool.nn.heads import classifier
from gmpool.pool import METHODS
from gmpool.tasks.metrics import loss_of


@dataclass(frozen=True)
class DataShape:
    """What a model must know of the data it was built for; saved with every checkpoint."""

    task: str
    num_features: int
    num_outputs: int
    mean_nodes: float
    cat_sizes: tuple[int, ...] = ()
    cat_starts: tuple[int, ...] = ()
    edge_cat_sizes: tuple[int, ...] = ()
    class_names: tuple[str, ...] = ()
    task_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, graphs: PackedGraphs) -> DataShape:
        if graphs.task is None:
            raise DataError(
                f"{graphs.name} has no labels; training needs at least one label column"
            )
        return cls(
            task=graphs.task,
            num_features=graphs.num_features,
            num_outputs=graphs.num_outputs,
            mean_nodes=graphs.mean_nodes,
            cat_sizes=graphs.cat_sizes,
            cat_starts=graphs.cat_starts,
            edge_cat_sizes=graphs.edge_cat_sizes,
            class_names=graphs.class_names,
            task_names=graphs.task_names,
        )

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> DataShape:
        fields: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        return cls(**fields)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_molecular(self) -> bool:
        """Categorical atoms and bonds and nothing else: the encoder reads bonds."""
        return bool(self.edge_cat_sizes) and sum(self.cat_sizes) == self.num_features

    def fit(self, graphs: PackedGraphs) -> PackedGraphs:
        """The graphs as a model made for this shape reads them: with its categories and numbers.

        Raises if they have other features, or a category that the model has not seen.
        """
        if len(self.cat_sizes) == len(graphs.cat_sizes):
            graphs = with_categories(graphs, self.cat_sizes, self.cat_starts)
        for name in ("num_features", "cat_sizes", "edge_cat_sizes"):
            expected, found = getattr(self, name), getattr(graphs, name)
            if expected != found:
                raise CheckpointError(
                    f"the model was trained on graphs with {name} = {expected}, but {graphs.name} "
                    f"has {found}; predict on data with the same features, or train a model on it"
                )
        return graphs


class GraphModel(nn.Module):
    """Message passing with jumping knowledge, one pooling, one classifier."""

    target_mean: Tensor
    target_std: Tensor

    def __init__(self, shape: DataShape, config: ModelConfig) -> None:
        super().__init__()
        self.shape, self.config = shape, config
        self.encoder: Encoder | MoleculeEncoder
        if shape.is_molecular and config.conv == "gcn":
            self.encoder = MoleculeEncoder(
                shape.cat_sizes,
                shape.edge_cat_sizes,
                config.hidden_dim,
                num_layers=config.num_layers,
            )
        else:
            self.encoder = Encoder(
                shape.num_features,
                config.hidden_dim,
                num_layers=config.num_layers,
                conv=config.conv,
            )
        method: Any = METHODS[config.method]
        self.pool = method(
            self.encoder.out_dim, config.hidden_dim, mean_nodes=shape.mean_nodes, **config.pool
        )
        self.head = classifier(
            self.pool.out_dim, config.hidden_dim, shape.num_outputs, dropout=config.dropout
        )
        # Regression targets are learned at mean 0 and deviation 1 of the training labels.
        self.register_buffer("target_mean", torch.zeros(shape.num_outputs))
        self.register_buffer("target_std", torch.ones(shape.num_outputs))

    def forward(self, batch: GraphBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """(predictions [B, C] or [B, T], auxiliary losses by name)"""
        edges, segments = BatchEdges(batch), batch_segments(batch)
        pooled = self.pool(self.encoder(batch.x, edges), edges, segments)
        return self.head(pooled.x), pooled.losses

    def fit_target_scale(self, y: Tensor) -> None:
        """Take mean and deviation from the training labels y [G, T]; NaN is a missing label."""
        if self.shape.task != "regression":
            return
        mean = y.nanmean(0)
        std = ((y - mean) ** 2).nanmean(0).sqrt()
        self.target_mean.copy_(mean.nan_to_num(0.0))
        self.target_std.copy_(torch.where(std > 0, std, 1.0))

    def loss(self, out: Tensor, y: Tensor | None) -> Tensor:
        assert y is not None
        if self.shape.task == "regression":
            y = (y - self.target_mean) / self.target_std
        return loss_of(self.shape.task, out, y)

    def in_label_units(self, out: Tensor) -> Tensor:
        """Outputs as the labels were given; logits stay logits."""
        if self.shape.task == "regression":
            return out * self.target_std + self.target_mean
        return out

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())
