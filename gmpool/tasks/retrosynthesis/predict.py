"""What products can be made of, by a trained model: few templates are run, the best first.

What a model makes of its centers and templates is computed once. A product then costs its three
encodings, products with those vectors, and the encodings of what its templates make. The order is
that of `decode.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gmpool.errors import CheckpointError, DataError, UserError, unknown
from gmpool.ops.sparse import Pattern
from gmpool.options import at_least
from gmpool.plain_text import shortened
from gmpool.tasks.retrosynthesis.assemble import pattern, ragged
from gmpool.tasks.retrosynthesis.chemist import Chemist, Chemistry, Chemists, Made, begin_chemist
from gmpool.tasks.retrosynthesis.chemistry import canonical, rdkit
from gmpool.tasks.retrosynthesis.decode import CENTERS, FINE, TEMPLATES
from gmpool.tasks.retrosynthesis.encoders import Encoder, Graphs
from gmpool.tasks.retrosynthesis.features import (
    MoleculeGraph,
    graph_of_molecule,
    graph_of_pattern,
)
from gmpool.tasks.retrosynthesis.graph_table import encoded
from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.shards import processes

AT_ONCE = 16
"""Products whose graphs are encoded together."""
_GRAPHS = 2048
_LETTERS, _ATOMS = 10_000, 1000
"""A product has at most."""


class BadProduct(DataError):
    """A text is no product of which anything can be said."""


class Prediction(NamedTuple):
    """reactants: canonical, sorted. score: the sum of the three. probability: by a softmax over all
    that was found for the product. template: that makes them, the best of several."""

    reactants: tuple[str, ...]
    score: float
    probability: float
    template: str


def read_product(smiles: str) -> str:
    """The canonical SMILES of one molecule. Raises BadProduct."""
    text, shown = smiles.strip(), repr(shortened(smiles))
    if not text:
        raise BadProduct("there is no SMILES")
    if len(text) > _LETTERS:
        raise BadProduct(f"{len(text):,} characters are no product, {_LETTERS:,} at most: {shown}")
    found = canonical(text)
    if not found:
        raise BadProduct(f"RDKit cannot read {shown}")
    if "." in found:
        raise BadProduct(f"{shown} has {found.count('.') + 1} molecules: give the product alone")
    atoms = rdkit().MolFromSmiles(found).GetNumAtoms()
    if atoms > _ATOMS:
        raise BadProduct(f"{shown} has {atoms:,} atoms, and {_ATOMS:,} are the most")
    return found


class Predictor:
    """Predicts by one model. device: where its networks are computed."""

    def __init__(self, model: GLN, device: str = "cpu") -> None:
        self.model = model.to(device).eval()
        self.library = TemplateLibrary.from_json(model.shape.library)
        self._center_of = np.array(self.library.center_of)
        self._like = next(model.parameters())
        self._centers, self._templates = self._library_vectors()  # [C, D], [T, D]
        self.chemistry: Chemistry = Chemist(self.library)

    @contextmanager
    def in_processes(self, workers: int) -> Iterator[None]:
        """Templates are run by so many processes in the meantime."""
        own = self.chemistry
        with processes(workers, begin_chemist, self.library.to_json()) as pool:
            self.chemistry = Chemists(pool)
            try:
                yield
            finally:
                self.chemistry = own

    def predict(
        self, smiles: str, top: int = 10, group: str | None = None, *, merged: bool = True
    ) -> list[Prediction]:
        """The best first, `top` at most; none where no template makes anything. group: the class of
        the reaction, for models that were trained with classes. merged: reactants that several
        templates make are there once."""
        return self.predict_many([smiles], top, group, merged=merged)[0]

    @torch.inference_mode()
    def predict_many(
        self,
        smiles: Sequence[str],
        top: int = 10,
        group: str | None = None,
        *,
        merged: bool = True,
    ) -> list[list[Prediction]]:
        """The same of several products."""
        at_least(("top", top, 1))
        allowed = self.allowed(group)
        products = [read_product(each) for each in smiles]
        found: list[list[Prediction]] = []
        for at in range(0, len(products), AT_ONCE):
            found += self._predict(products[at : at + AT_ONCE], allowed, top, merged=merged)
        return found

    def allowed(self, group: str | None) -> Sequence[Sequence[int]]:
        """Of each center the templates that may be taken. Raises for a class that the model does
        not know, or does not want, or wants."""
        library, groups = self.library, self.library.groups
        if not self.model.shape.given:
            if group is not None:
                raise UserError(
                    f"the model was trained without classes and takes none, got class {group!r}"
                )
            return library.templates_of
        if group is None:
            raise UserError(
                f"the model was trained with classes: say which one the reaction has "
                f"(known: {', '.join(groups)})"
            )
        if group not in groups:
            raise unknown("class", group, groups)
        seen = [group in counts for counts in library.counts]
        return [[t for t in each if seen[t]] for each in library.templates_of]

    def _predict(
        self, products: Sequence[str], allowed: Sequence[Sequence[int]], top: int, *, merged: bool
    ) -> list[list[Prediction]]:
        model = self.model
        graphs = self._graphs([graph_of_molecule(product) for product in products])
        asked = [
            encode(graphs)[0][:-1] @ bilinear.weight
            for encode, bilinear in zip(model.products, model.bilinear, strict=True)
        ]  # three times [B, D]
        v1 = (asked[0] @ self._centers.t()).cpu().numpy()  # [B, C]
        v2 = (asked[1] @ self._templates.t()).cpu().numpy()  # [B, T]
        both = v2 + v1[:, self._center_of]
        chosen = []
        for at, matching in enumerate(self.chemistry.match(products)):
            centers = np.array([c for c in matching if allowed[c]], dtype=np.int64)
            kept = centers[_order(v1[at, centers])[:CENTERS]]
            templates = np.array(sorted(t for c in kept for t in allowed[c]), dtype=np.int64)
            chosen.append(templates[_order(both[at, templates])].tolist())
        made = self.chemistry.run(products, chosen, TEMPLATES)
        molecules = sorted({m for each in made for outcome in each.outcomes for m in outcome})
        if not molecules:
            return [[] for _ in products]
        vectors = self._encode(model.reactants, [graph_of_molecule(m) for m in molecules])
        v3 = (asked[2] @ vectors.t()).cpu().numpy()  # [B, M]
        place = {smiles: at for at, smiles in enumerate(molecules)}
        found = []
        for at, each in enumerate(made):
            of_outcome = [v3[at, [place[m] for m in outcome]].sum() for outcome in each.outcomes]
            totals = both[at, each.templates] + np.array(of_outcome, dtype=v3.dtype)
            found.append(self._ordered(each, totals, top, merged=merged))
        return found

    def _ordered(
        self, made: Made, totals: np.ndarray, top: int, *, merged: bool
    ) -> list[Prediction]:
        by_template = np.argsort(made.templates, kind="stable")  # equal scores: seen more often
        order = by_template[_order(totals[by_template])].tolist()
        if merged:
            first: dict[tuple[str, ...], int] = {}
            for at in order:
                first.setdefault(made.outcomes[at], at)
            order = list(first.values())
        scores = totals[order].astype(np.float64)
        odds = np.exp(scores - scores.max(initial=-np.inf))
        listed = zip(order[:top], scores.tolist(), (odds / odds.sum()).tolist(), strict=False)
        return [
            Prediction(made.outcomes[at], score, p, self.library.templates[made.templates[at]])
            for at, score, p in listed
        ]

    # -- networks -------------------------------------------------------------------------------

    def _graphs(self, graphs: Sequence[MoleculeGraph]) -> Graphs:
        shape = self.model.shape
        return encoded(graphs, shape.elements, queries=shape.queries, like=self._like)

    def _encode(self, encoder: Encoder, graphs: Sequence[MoleculeGraph]) -> Tensor:
        """[G, D]"""
        parts = [graphs[at : at + _GRAPHS] for at in range(0, len(graphs), _GRAPHS)]
        return torch.cat([encoder(self._graphs(part))[0][:-1] for part in parts])

    @torch.inference_mode()
    def _library_vectors(self) -> tuple[Tensor, Tensor]:
        """Of centers for v₁ and of templates for v₂."""
        library, own = self.library, self.model.templates
        centers = [_pattern_graph(text) for text in library.centers]
        fragments = [_pattern_graph(text) for text in library.fragments]
        counts = torch.tensor([[len(each) for each in library.fragments_of]])
        flat = torch.tensor([[f for each in library.fragments_of for f in each]])
        made = pattern(ragged(counts, flat.shape[1]), flat, len(fragments))
        device = self._like.device
        templates = own.joined(
            self._encode(own.center, centers),
            self._encode(own.fragment, fragments),
            Pattern(*(tensor[0].to(device) for tensor in vars(made).values())),
            torch.tensor(library.center_of, device=device),
        )
        return self._encode(self.model.centers, centers), templates


def _pattern_graph(text: str) -> MoleculeGraph:
    if rdkit().MolFromSmarts(text) is None:
        raise CheckpointError(f"RDKit cannot read the model's pattern {shortened(text)!r}")
    return graph_of_pattern(text)


def _order(scores: np.ndarray) -> np.ndarray:
    """The largest first; equal ones, but for rounding, as they come."""
    return np.argsort(-np.round(scores * FINE), kind="stable")
