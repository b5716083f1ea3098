"""What a model reads of a batch of reactions: four sets of graphs, each graph once, and who is a
candidate of what. All of it has the shapes that its bounds say, and may have a replica axis first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from torch import Tensor

from gmpool.data.fixed_batch import FixedBatch
from gmpool.ops.sparse import Pattern


class Bounds(NamedTuple):
    """The most that a batch may have of each."""

    whole: int
    """0: some of the candidates are drawn, to learn from; else all of them are there."""
    product_nodes: int
    product_edges: int
    center_entries: int
    center_graphs: int
    center_nodes: int
    center_edges: int
    template_entries: int
    templates: int
    fragment_entries: int
    fragment_graphs: int
    fragment_nodes: int
    fragment_edges: int
    outcomes: int
    molecule_entries: int
    molecule_graphs: int
    molecule_nodes: int
    molecule_edges: int
    pairs: int


@dataclass(frozen=True)
class ReactionBatch:
    """B reactions. Entries of a reaction lie one after the other; what is drawn to learn from
    begins with what is right. A last row of each pattern has what is made up to fill the shapes.

    features: rows of the kinds of atoms. real: 1 for reactions that are there.
    """

    features: Tensor  # [K, F]
    real: Tensor  # [B]
    products: FixedBatch
    centers: FixedBatch
    fragments: FixedBatch
    molecules: FixedBatch
    matching: Pattern
    """Reactions × centers."""
    choices: Pattern
    """Reactions × templates."""
    contents: Pattern
    """Templates × fragments."""
    reactants: Pattern
    """Reactions × molecules, those of an outcome one after the other."""
    template_center: Tensor  # [T]: the center of each template
    outcome_ptr: Tensor  # [O+2]: where the molecules of each outcome begin
    outcome_rows: Tensor  # [B+2]: where the outcomes of each reaction begin
    choice_match: Tensor  # [C]: of each choice the entry of its center in `matching`
    makes: Tensor  # [C]: whether the template has an outcome
    pair_choice: Tensor  # [P]: of each pair the entry in `choices`
    pair_outcome: Tensor  # [P]: and the outcome
    pair_rows: Tensor  # [B+2]: where the pairs of each reaction begin
    truth: Tensor  # [B]: the outcome that is true, or -1

    def tensors(self) -> dict[str, Tensor]:
        """All its tensors by name; those of a part with the part's name before a colon."""
        found: dict[str, Tensor] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, FixedBatch):
                found |= {f"{field.name}:{n}": t for n, t in value.tensors().items()}
            elif isinstance(value, Pattern):
                parts = {f.name: getattr(value, f.name) for f in fields(Pattern)}
                found |= {f"{field.name}:{n}": t for n, t in parts.items() if t is not None}
            else:
                found[field.name] = value
        return found

    def with_(self, tensors: dict[str, Tensor]) -> ReactionBatch:
        """The same batch made of other tensors, such as one replica's of them."""
        made: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            begin = f"{field.name}:"
            part = {n.removeprefix(begin): t for n, t in tensors.items() if n.startswith(begin)}
            if isinstance(value, FixedBatch):
                made[field.name] = value.with_(part)
            elif isinstance(value, Pattern):
                made[field.name] = Pattern(**part)
            else:
                made[field.name] = tensors[field.name]
        return ReactionBatch(**made)

    def alone(self) -> ReactionBatch:
        """The batch of the only replica."""
        return self.with_({name: tensor[0] for name, tensor in self.tensors().items()})
