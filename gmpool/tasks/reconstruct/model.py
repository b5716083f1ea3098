"""Graph reconstruction: compress each graph to a few rows, rebuild it, and see what was lost.

H = encoder(X, A) ;  X_pool, C = pooling(H, A) ;  X_rec = decoder(C X_pool, A)
objective "x":  X_rec against X;  cross-entropy where X is one categorical column, else the mean
                squared error of its columns
objective "a":  A_rec = C A_pool Cᵀ against A, mean squared error of the n² entries
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gmpool.data import PackedGraphs, epoch_batches
from gmpool.data.batch import Ids
from gmpool.data.fixed_batch import FixedBatch
from gmpool.errors import UserError, unknown
from gmpool.graph.batch_edges import BatchEdges, batch_segments
from gmpool.graph.columns import OneHot
from gmpool.graph.edges import AnyEdges
from gmpool.nn.conv import GCNConv
from gmpool.nn.encoder import Encoder
from gmpool.ops.segment import Segments
from gmpool.tasks.metrics import loss_of
from gmpool.tasks.reconstruct.compress import LEARNS_ADJACENCY, Compressed, Kept, make_compression
from gmpool.tasks.reconstruct.settings import OBJECTIVES, AutoencoderConfig
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Batch, Supervised


def metric_name(shape: DataShape, objective: str) -> str:
    """What is reported of an objective: accuracy in percent, or an error."""
    if objective == "a":
        return "error_a"
    return "accuracy" if shape.is_one_category else "error_x"


class Reconstruction(NamedTuple):
    """What an autoencoder makes of a batch, whatever it was trained for."""

    x: Tensor  # X_rec, or the scores of the categories [N, F]
    adjacency_errors: Tensor  # mean of (A − A_rec)² of each graph [B]
    compressed: Compressed


class Autoencoder(Supervised):
    """Encoder of GCN layers with ReLU, one pooling, unpooling, and a decoder of GCN layers with
    ReLU between, the last of which has the width of the input."""

    shape: DataShape
    config: AutoencoderConfig

    def __init__(self, shape: DataShape, config: AutoencoderConfig) -> None:
        super().__init__()
        if config.objective not in OBJECTIVES:
            raise unknown("objective", config.objective, OBJECTIVES)
        if config.objective == "a":
            _check_adjacency(config, shape)
        if not shape.num_features:
            raise UserError("the graphs have no node features, so that there is nothing to rebuild")
        self.shape, self.config = shape, config
        self.metric = metric_name(shape, config.objective)
        self.encoder = Encoder(
            shape.num_features, config.hidden_dim, num_layers=config.num_layers, conv="gcn"
        )
        self.compression = make_compression(config, shape.sizes)
        widths = [config.hidden_dim] * config.decoder_layers + [shape.num_features]
        self.decoder = nn.ModuleList(GCNConv(a, b) for a, b in pairwise(widths))

    @property
    def reads(self) -> frozenset[str]:
        """A is wanted where it is rebuilt."""
        return frozenset({"plain"}) if self.config.objective == "a" else frozenset()

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """(scores of categories or numbers [N, F], or the errors of A per graph [B, 1];
        auxiliary losses by name)"""
        edges, segments = BatchEdges(batch), batch_segments(batch)
        compressed = self._compress(batch, edges, segments)
        if self.config.objective == "x":
            out = self._decode(compressed, edges, segments)
        else:
            out = compressed.adjacency_errors(edges, segments)[:, None]
            if isinstance(batch, FixedBatch):
                out = out[:-1]  # the last graph is made up
        return out, compressed.losses if self.config.auxiliary else {}

    def reconstruct(self, batch: Batch) -> Reconstruction:
        """Both X and A, and what they were rebuilt from."""
        edges, segments = BatchEdges(batch), batch_segments(batch)
        compressed = self._compress(batch, edges, segments)
        x = self._decode(compressed, edges, segments)
        return Reconstruction(x, compressed.adjacency_errors(edges, segments), compressed)

    def _compress(self, batch: Batch, edges: AnyEdges, segments: Segments) -> Compressed:
        last = self.encoder(self._features(batch), edges).blocks[-1]  # [N, D]; no jumping knowledge
        compressed: Compressed = self.compression(last, edges, segments, batch.numbers)
        return compressed

    def _features(self, batch: Batch) -> Tensor | OneHot:
        """X; on a CPU as categories, where they are at hand. On a GPU the gradient of a choice of
        rows is a sum without a fixed order."""
        at_hand = not isinstance(batch, FixedBatch) and batch.ptr.is_cpu
        if self.shape.is_one_category and at_hand:
            return OneHot(_categories(batch), self.shape.num_features)
        return batch.x

    def _decode(self, compressed: Compressed, edges: AnyEdges, segments: Segments) -> Tensor:
        """-> [N, F]"""
        first, *later = self.decoder
        assert isinstance(first, GCNConv)
        x = compressed.unpool_into(first, edges, segments)
        for conv in later:
            x = conv(torch.relu_(x), edges)  # in place: a convolution's output is its own
        return x

    def labels(self, batch: Batch) -> Tensor:
        """Categories [N] or numbers [N, F] of the nodes; zeros [B, 1] for the errors of A."""
        categories = self.shape.is_one_category
        if self.config.objective == "a":
            labels = batch.x.new_zeros(batch.ptr.shape[0] - 1, 1)
        elif categories:
            labels = _categories(batch)
        else:
            labels = batch.x
        if not isinstance(batch, FixedBatch):
            return labels
        if self.config.objective == "a":
            return torch.where(batch.real[:, None] > 0, labels, torch.nan)[:-1]
        real = batch.real.index_select(0, batch.batch) > 0  # [N]
        if categories:
            return torch.where(real, labels, -100)
        return torch.where(real[:, None], labels, torch.nan)

    def distance(self, out: Tensor, y: Tensor) -> Tensor:
        if self.config.objective == "a":
            present = ~y.isnan()
            return torch.where(present, out, 0.0).sum() / present.sum().clamp(min=1)
        return loss_of("multiclass" if self.shape.is_one_category else "regression", out, y)


def _check_adjacency(config: AutoencoderConfig, shape: DataShape) -> None:
    """Raises where the adjacency that is rebuilt depends on no weight."""
    if config.method not in LEARNS_ADJACENCY:
        raise UserError(
            f"{config.method} has nothing to learn of objective a: its adjacency after pooling "
            f"does not depend on weights smoothly; use objective x, where the error of A is "
            f"reported too, or {', '.join(sorted(LEARNS_ADJACENCY))}"
        )
    rows = config.pool.get("num_clusters") or shape.sizes.share(config.ratio)
    if rows == 1:
        raise UserError(
            f"with ratio {config.ratio:g} one row is left of a graph of {shape.mean_nodes:.1f} "
            f"nodes, to which all nodes go: there is nothing to learn of objective a; take a "
            f"larger ratio"
        )


def _categories(batch: Batch) -> Tensor:
    """The category of each node; of a made-up one any. [N]"""
    if isinstance(batch, FixedBatch):
        return batch.x.argmax(1)
    assert batch.node_cat is not None
    return batch.node_cat[:, 0]


@dataclass(frozen=True)
class Rebuilt:
    """N nodes of some graphs, in their order; on the CPU."""

    nodes: Tensor
    """The types that were found, int64 [N]; or the numbers, [N, F]."""
    clusters: Tensor
    """int64 [N]: the row that most of a node went to; -1 for a node that was dropped."""
    scores: dict[str, float]
    """error_a, and accuracy in percent where nodes have types, else error_x."""


@torch.no_grad()
def rebuild(
    model: Autoencoder, graphs: PackedGraphs, ids: Ids, *, batch_size: int = 128
) -> Rebuilt:
    """Whatever the model was trained for, X and A are both rebuilt. The model may lie anywhere."""
    model = model.to(graphs.device).eval()
    categories = model.shape.is_one_category
    nodes, clusters, errors, differences = [], [], [], []
    for batch in epoch_batches(graphs, ids, batch_size):
        made = model.reconstruct(batch)
        found = made.x.argmax(1) if categories else made.x
        true = batch.x.argmax(1) if categories else batch.x
        wrong = found != true if categories else (found - true).square().mean(1)
        nodes.append(found)
        differences.append(wrong.double())
        errors.append(made.adjacency_errors.double())
        clusters.append(clusters_of(made.compressed, batch_segments(batch)))
    wrong_share = float(torch.cat(differences).mean())
    x = {"accuracy": 100 * (1 - wrong_share)} if categories else {"error_x": wrong_share}
    return Rebuilt(
        torch.cat(nodes).cpu(),
        torch.cat(clusters).cpu(),
        {**x, "error_a": float(torch.cat(errors).mean())},
    )


def clusters_of(compressed: Compressed, segments: Segments) -> Tensor:
    """The row of its graph that most of each node went to; -1 for a dropped node. int64 [N]"""
    if not isinstance(compressed, Kept):
        return compressed.assignment.argmax(1)
    kept = torch.zeros_like(segments.batch).index_fill(0, compressed.kept.long(), 1)
    before = kept.cumsum(0) - kept
    first = before.index_select(0, segments.ptr[:-1].clamp(max=max(len(kept) - 1, 0)))
    return torch.where(kept > 0, before - first.index_select(0, segments.batch), -1)
