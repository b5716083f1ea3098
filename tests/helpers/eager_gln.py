"""GLN once more, without batches: graph by graph and neighbour by neighbour in float64, from the
SMILES and the SMARTS. Nothing is shared with the package but weights and features of atoms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from made_up_reactions import MadeUp
from paper_equations import gmpool
from torch import Tensor, nn

from gmpool.graph import Edges, Segments
from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.features import (
    elements_of,
    feature_rows,
    graph_of_molecule,
    graph_of_pattern,
)
from gmpool.tasks.retrosynthesis.model import GLN


class EagerGLN:
    """The three scores of a model on the reactions of a set."""

    def __init__(self, model: GLN, made: MadeUp, data: Reactions) -> None:
        self.model, self.library = model, made.library
        self.elements = elements_of(made.prepared.arrays["atoms"])
        self.queries = data.queries
        self.encode = cache(self._encode)

    @torch.no_grad()
    def center(self, product: str, center: int) -> Tensor:
        """v₁"""
        vector, _ = self.encode(self.model.centers, self.library.centers[center], True)
        return self._asked(0, product) @ self.model.bilinear[0].weight @ vector

    @torch.no_grad()
    def template(self, product: str, template: int) -> Tensor:
        """v₂"""
        parts, library = self.model.templates, self.library
        center = self.encode(parts.center, library.centers[library.center_of[template]], True)[0]
        fragments = torch.zeros_like(center)
        for fragment in library.fragments_of[template]:
            vector, _ = self.encode(parts.fragment, library.fragments[fragment], True)
            fragments = fragments + vector.relu()
        vector = parts.second(parts.first(torch.cat([center, fragments])).relu())
        return self._asked(1, product) @ self.model.bilinear[1].weight @ vector

    @torch.no_grad()
    def outcome(self, product: str, molecules: Sequence[str]) -> Tensor:
        """v₃"""
        vector = sum(self.encode(self.model.reactants, each, False)[0] for each in molecules)
        return self._asked(2, product) @ self.model.bilinear[2].weight @ vector

    def _asked(self, which: int, product: str) -> Tensor:
        return self.encode(self.model.products[which], product, False)[0]

    @torch.no_grad()
    def _encode(self, encoder: Any, text: str, is_pattern: bool) -> tuple[Tensor, float]:
        """(its vector, the losses of its pooling)"""
        graph = (graph_of_pattern if is_pattern else graph_of_molecule)(text)
        rows = feature_rows(np.array(graph.atoms), self.elements, queries=self.queries)
        x = torch.from_numpy(rows).double()
        b = [encoder.inputs(atom) for atom in x]
        h = [each.relu() for each in b]
        for _ in range(encoder.rounds):
            gathered = [
                sum((h[j] for j in neighbours), torch.zeros_like(h[0]))
                for neighbours in graph.neighbours
            ]
            h = [(encoder.messages(g) + own).relu() for g, own in zip(gathered, b, strict=True)]
        nodes = torch.stack([encoder.rows(each).relu() for each in h])
        vector, loss = pooled(encoder.pooling, nodes, graph.neighbours)
        return encoder.out(vector), loss


def pooled(pooling: Any, nodes: Tensor, neighbours: list[list[int]]) -> tuple[Tensor, float]:
    name = type(pooling).__name__
    if name == "MeanOfNodes":
        return nodes.sum(0) / len(nodes), 0.0
    if name == "SumOfNodes":
        return nodes.sum(0), 0.0
    if name == "MaxOfNodes":
        return nodes.amax(0), 0.0
    A = np.zeros((len(nodes), len(nodes)))
    for i, near in enumerate(neighbours):
        A[i, near] = 1.0
    if name == "OneSeed":
        rows, _ = gmpool(pooling.pooling, list(nodes.detach().numpy()), A)
        return torch.from_numpy(rows[0]), 0.0
    if name == "MeanOfClusters":
        assign = pooling.clusters.assign
        shares = assign(nodes).softmax(1).detach().numpy()
        return nodes.sum(0) / shares.shape[1], cut_losses(shares, A)
    assert isinstance(pooling, nn.Module)  # others on the graph alone, by themselves
    sources = [j for near in neighbours for j in near]
    targets = [i for i, near in enumerate(neighbours) for _ in near]
    edges = Edges(torch.tensor([sources, targets]).long(), len(nodes), dtype=nodes.dtype)
    vectors, _ = pooling(nodes, edges, Segments.uniform(1, len(nodes)))
    return vectors[0], 0.0


def cut_losses(S: np.ndarray, A: np.ndarray) -> float:
    """−Tr(SᵀAS)/Tr(SᵀDS) + ‖SᵀS/‖SᵀS‖ − I/√K‖, as published."""
    K = S.shape[1]
    volume = np.trace(S.T @ np.diag(A.sum(1)) @ S)
    cut = -np.trace(S.T @ A @ S) / volume if volume > 0 else 0.0
    gram = S.T @ S
    return float(cut + np.linalg.norm(gram / np.linalg.norm(gram) - np.eye(K) / np.sqrt(K)))
