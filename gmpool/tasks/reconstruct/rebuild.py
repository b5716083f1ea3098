"""What an autoencoder makes of some graphs: rebuilt nodes, their clusters, and both errors."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gmpool.data import PackedGraphs, epoch_batches
from gmpool.data.batch import Ids
from gmpool.graph.batch_edges import batch_segments
from gmpool.ops.segment import Segments
from gmpool.tasks.reconstruct.compress import Compressed, Kept
from gmpool.tasks.reconstruct.model import Autoencoder


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
