"""Several trained models as one, which knows how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from gmpool.data import PackedGraphs, epoch_batches
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.settings import FOLDS, SEEDS, ModelConfig
from gmpool.tasks.classify.sureness import Array, Sureness
from gmpool.tasks.metrics import loss_of, metrics_of
from gmpool.tasks.shape import DataShape
from gmpool.tasks.trainable import Batch, Rows, Trainable

BATCH = 1024
"""Graphs at a time, when nothing is learned."""
MEMBERS = "members"
"""Among the outputs of an ensemble: what each member said of the test part, [M, n, ·]."""


@dataclass(frozen=True)
class EnsembleShape(DataShape):
    held_out: int = 0
    """Graphs that calibration rests on."""


class Ensemble(Trainable):
    """M models that were trained apart, and what their predictions are worth.

    As one model it says the mean of theirs: of probabilities, as log odds or logarithms, or of
    values in the unit of the labels.
    """

    shape: EnsembleShape
    config: ModelConfig

    def __init__(self, shape: EnsembleShape, config: ModelConfig) -> None:
        super().__init__()
        self.shape, self.config = shape, config
        one = member_of(config)
        self.members = nn.ModuleList(GraphModel(shape, one) for _ in range(config.members))
        self.sure = Sureness(shape, shape.held_out, crossed=config.members_by == FOLDS)

    @classmethod
    def of(cls, members: Sequence[GraphModel], config: ModelConfig, held_out: int) -> Ensemble:
        """Not calibrated yet."""
        shape = EnsembleShape(**{**vars(members[0].shape), "held_out": held_out})
        made = cls(shape, config)
        made.members = nn.ModuleList(members)
        return made.eval()

    @property
    def metric(self) -> str:
        return self._first.metric

    @property
    def _first(self) -> GraphModel:
        first = self.members[0]
        assert isinstance(first, GraphModel)
        return first

    def say(self, batch: Batch) -> Tensor:
        """Probabilities of classes [M, B, C] or of yes [M, B, T], or values [M, B, T]."""
        found = []
        for member in self.members:
            assert isinstance(member, GraphModel)
            found.append(said_by(member, member(batch)[0]))
        return torch.stack(found)

    def evaluate(self, batch: Batch) -> Rows:
        return together(self.shape.task, self.say(batch)), self._first.labels(batch)

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        out, y = rows
        scale = self._first.target_std if self.metric == "nrmse" else 1.0
        score = metrics_of(self.metric, (out / scale)[None], (y / scale)[None])[0]
        return loss_of(self.shape.task, out, y), score

    def prepared(self, graphs: PackedGraphs) -> PackedGraphs:
        return self._first.prepared(graphs)

    @torch.no_grad()
    def embed(self, graphs: PackedGraphs, *, batch_size: int = BATCH) -> Tensor:
        """The vectors of graphs, those of all members side by side. [G, M · D]"""
        self.eval()
        width = self._first.network.out_dim
        found = [torch.empty(0, len(self.members) * width)]
        for batch in epoch_batches(graphs, torch.arange(graphs.num_graphs), batch_size):
            each = [
                member.embed(batch) for member in self.members if isinstance(member, GraphModel)
            ]
            found.append(torch.cat(each, dim=1).cpu())
        return torch.cat(found)

    def in_label_units(self, out: Tensor) -> Tensor:
        return out


def member_of(config: ModelConfig) -> ModelConfig:
    """The configuration of one member."""
    return replace(config, members=1, members_by=SEEDS)


def said_by(member: GraphModel, out: Tensor) -> Tensor:
    """Outputs as probabilities or values. [B, C] or [B, T]"""
    if member.shape.task == "multiclass":
        return out.softmax(1)
    return out.sigmoid() if member.shape.task == "binary" else member.in_label_units(out)


def together(task: str, said: Tensor) -> Tensor:
    """The mean over members as outputs of one model. [M, B, ·] -> [B, ·]"""
    mean = said.double().mean(0)
    if task == "regression":
        return mean.float()
    if task == "multiclass":
        return mean.clamp(min=1e-12).log().float()
    return torch.logit(mean, eps=1e-12).float()


@torch.no_grad()
def say(
    model: GraphModel | Ensemble,
    graphs: PackedGraphs,
    ids: Tensor | None = None,
    *,
    batch_size: int = BATCH,
) -> Array:
    """What each member says of graphs, all or those of ids. [M, n, ·]"""
    model.eval()
    which = torch.arange(graphs.num_graphs) if ids is None else ids
    found = [torch.empty(model.config.members, 0, model.shape.num_outputs)]
    for batch in epoch_batches(graphs, which, batch_size):
        if isinstance(model, Ensemble):
            said = model.say(batch)
        else:
            said = said_by(model, model(batch)[0])[None]
        found.append(said.cpu())
    return torch.cat(found, dim=1).double().numpy()
