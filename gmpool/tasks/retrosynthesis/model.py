"""The Graph Logic Network (Dai et al., NeurIPS 2019) as a model, trained alone or stacked.

    log p(R, T | O) = v₁(center(T), O) + v₂(T, O) + v₃(R, O) + const ,  v(c, O) = ⟨e(O), W e(c)⟩
It learns by three softmaxes, each of the right one among some wrong ones: of centers, of templates
and of outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gmpool.errors import CheckpointError
from gmpool.ops.add_bias import affine
from gmpool.ops.row_ids import row_ids
from gmpool.ops.segment import Segments, segment_gather, segment_max, segment_sum
from gmpool.ops.sparse import Pattern, sddmm, spmm
from gmpool.tasks.retrosynthesis.batch import ReactionBatch
from gmpool.tasks.retrosynthesis.decode import Ranked, Scores, ranks
from gmpool.tasks.retrosynthesis.encoders import Encoder, Graphs
from gmpool.tasks.retrosynthesis.settings import GLNConfig
from gmpool.tasks.trainable import Phase, Rows, Trainable


@dataclass(frozen=True)
class Shape:
    """What a model must know of its data; saved with it.

    elements: that it knows, by their numbers. queries: whether it sees what patterns ask for.
    given: whether it was trained with classes. library: the templates, as JSON.
    """

    features: int
    elements: tuple[int, ...]
    queries: bool
    given: bool
    library: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "elements": list(self.elements)}

    @classmethod
    def from_json(cls, values: Any) -> Shape:
        """From a file that anybody may have written."""
        try:
            return cls(
                int(values["features"]),
                tuple(map(int, values["elements"])),
                bool(values["queries"]),
                bool(values["given"]),
                dict(values["library"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the model's shape cannot be read ({error!r})") from error


class Bilinear(nn.Module):
    """⟨a, W b⟩ of rows a and b; what is learned is W."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        end = 1 / math.sqrt(dim)
        self.weight = nn.Parameter(torch.empty(dim, dim).uniform_(-end, end))

    def forward(self, pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
        """Of each entry of the pattern, a [M, D] its rows and b [N, D] its columns. [E]"""
        return sddmm(pattern, a @ self.weight, b)


class Templates(nn.Module):
    """A vector for each template: of its center, and of the sum over its fragments, by two layers.

    The first is linear in both: it is done once for each center and each fragment.
    """

    def __init__(self, features: int, config: GLNConfig) -> None:
        super().__init__()
        self.center = _exchanged(features, config)
        self.fragment = _exchanged(features, config)
        D = config.embed_dim
        self.first = nn.Linear(2 * D, D)
        self.second = nn.Linear(D, D)

    def forward(
        self, centers: Graphs, fragments: Graphs, batch: ReactionBatch
    ) -> tuple[Tensor, dict[str, Tensor]]:
        center, losses = self.center(centers)
        fragment, more = self.fragment(fragments)
        vectors = self.joined(center, fragment, batch.contents, batch.template_center)
        return vectors, {"center": sum(losses.values()), "fragment": sum(more.values())}

    def joined(
        self, center: Tensor, fragment: Tensor, contents: Pattern, center_of: Tensor
    ) -> Tensor:
        """Vectors of templates, of those of centers and fragments. contents: templates × fragments,
        and a last row that is left out. center_of: of each template. [T, D]"""
        of_center, of_fragment = self.first.weight.chunk(2, dim=1)
        summed = spmm(contents, fragment.relu() @ of_fragment.t())[:-1]
        own = affine(center, of_center, self.first.bias).index_select(0, center_of)
        return affine((own + summed).relu(), self.second.weight, self.second.bias)


def _exchanged(features: int, config: GLNConfig) -> Encoder:
    return Encoder(
        features, config.message_dim, config.embed_dim, rounds=config.rounds,
        pooling=config.method, options=config.pool,
    )  # fmt: skip


def _other(features: int, config: GLNConfig) -> Encoder:
    return Encoder(
        features, config.message_dim, config.embed_dim, rounds=config.rounds,
        pooling=config.other_pooling,
    )  # fmt: skip


class GLN(Trainable):
    """Three scores, each with an encoder of products of its own."""

    shape: Shape

    def __init__(self, shape: Shape, config: GLNConfig) -> None:
        super().__init__()
        self.shape, self.config = shape, config
        F = shape.features
        self.products = nn.ModuleList(_other(F, config) for _ in range(3))
        self.bilinear = nn.ModuleList(Bilinear(config.embed_dim) for _ in range(3))
        self.centers = _exchanged(F, config)
        self.templates = Templates(F, config)
        self.reactants = _other(F, config)

    def scores(self, batch: ReactionBatch) -> Scores:
        features = batch.features.to(self.reactants.rows.weight.dtype)
        products, centers, fragments, molecules = (
            Graphs.of(each, features)
            for each in (batch.products, batch.centers, batch.fragments, batch.molecules)
        )
        asked = [encode(products)[0] for encode in self.products]
        center, losses = self.centers(centers)
        template, more = self.templates(centers, fragments, batch)
        molecule, _ = self.reactants(molecules)
        matching = self.bilinear[0](batch.matching, asked[0], center)
        choices = self.bilinear[1](batch.choices, asked[1], template)
        # A reactant set's vector is the sum over its molecules, and its score the sum of theirs.
        parts = self.bilinear[2](batch.reactants, asked[2], molecule)
        outcomes = segment_sum(parts[:, None], _runs(batch.outcome_ptr, parts.shape[0]))[:-1, 0]
        return Scores(matching, choices, outcomes, {"matching": sum(losses.values()), **more})

    def loss(self, batch: ReactionBatch, phase: Phase) -> Tensor:
        found = self.scores(batch)
        surprise = [
            _surprise(scores, rows, batch.real)
            for scores, rows in (
                (found.matching, batch.matching.rowptr),
                (found.choices, batch.choices.rowptr),
                (found.outcomes, batch.outcome_rows),
            )
        ]
        return torch.stack(surprise).sum() + sum(found.losses.values())

    def ranked(self, batch: ReactionBatch) -> Ranked:
        """Where the truth is, of reactions with all their candidates."""
        return ranks(self.scores(batch), batch)

    def evaluate(self, batch: ReactionBatch) -> Rows:
        """(rank of the truth as published, with duplicates merged, 1 for a reaction that is there);
        ranks count from 1, and 0 is not found. [B] each"""
        found = self.ranked(batch)
        return found.published, found.merged, batch.real

    def judge(self, *rows: Tensor) -> tuple[Tensor, Tensor]:
        """(the mean of 1 - 1/rank, top-1 in percent) of the ranks as published"""
        published, _, real = rows
        count = real.sum().clamp(min=1)
        inverse = torch.where(published > 0, 1.0 / published.clamp(min=1), 0.0)
        hit = (published == 1).to(real.dtype)
        return 1 - (inverse * real).sum() / count, 100 * (hit * real).sum() / count


def _runs(ptr: Tensor, count: int) -> Segments:
    """So many entries that lie one after the other. ptr [n+1]"""
    place = torch.arange(count, device=ptr.device)
    return Segments(row_ids(ptr, count), place, ptr)


def _surprise(scores: Tensor, ptr: Tensor, real: Tensor) -> Tensor:
    """−log softmax of the first entry of each row, the mean over rows that are there. ptr [B+2]"""
    rows = _runs(ptr, scores.shape[0])
    top = segment_max(scores.detach()[:, None], rows)
    e = (scores[:, None] - segment_gather(top, rows)).exp()
    there = real > 0
    total = segment_sum(e, rows)[:-1, 0]  # [B]
    log = torch.where(there, total, 1.0).log() + top[:-1, 0]
    right = scores.index_select(0, ptr[:-2].clamp(max=scores.shape[0] - 1))
    return torch.where(there, log - right, 0.0).sum() / real.sum().clamp(min=1).to(scores.dtype)
