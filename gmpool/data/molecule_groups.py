"""Which graphs of a set are one molecule, and which have one scaffold: what no split may cut.

Bemis and Murcko, "The Properties of Known Drugs. 1. Molecular Frameworks", 1996: a scaffold is what
is left of a molecule without its side chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gmpool.data.packed_fields import PackedFields
from gmpool.data.sources.molecules import ATOM_SIZES, REFUSED, BadSmiles, parse_smiles
from gmpool.data.splits import Split
from gmpool.errors import MissingPackage

_ATOM = (0, 2, 3, 4)
"""Columns of an atom that the order of atoms does not change: its number, degree, charge and
hydrogens."""


class MoleculeGroups:
    """The molecules and scaffolds of a list of SMILES, found when they are first asked for.

    Groups are numbered by their first graph. alike: int64 [G], where it is known: different of
    graphs that cannot be the same molecule, so that the others alone are compared.
    """

    def __init__(self, smiles: Sequence[str], alike: Tensor | None = None) -> None:
        self._smiles, self._alike = tuple(smiles), alike

    @classmethod
    def of(cls, graphs: PackedFields) -> MoleculeGroups | None:
        """Of graphs that were read from SMILES, which are then their names; else None."""
        if graphs.graph_names is None:
            return None
        if graphs.cat_sizes == ATOM_SIZES:
            return cls(graphs.graph_names, atoms_and_bonds(graphs, _ATOM))
        return cls(graphs.graph_names) if graphs.node_type_names else None

    def __len__(self) -> int:
        return len(self._smiles)

    @cached_property
    def molecules(self) -> Tensor:
        """int64 [G]: equal where the canonical SMILES are, stereo included. What has none is the
        same molecule where the texts are equal."""
        chem, _, quiet = _rdkit()
        found: dict[str, str] = {}
        with quiet():
            for text, alone in zip(self._smiles, self._alone(), strict=True):
                if text not in found:
                    found[text] = text if alone else _written(chem.MolToSmiles, chem, text)
        return numbered(found[text] for text in self._smiles)

    def _alone(self) -> list[bool]:
        """Of each graph whether no other can be the same molecule."""
        if self._alike is None:
            return [False] * len(self)
        _, kind, counts = self._alike.unique(return_inverse=True, return_counts=True)
        alone: list[bool] = (counts[kind] == 1).tolist()
        return alone

    @cached_property
    def scaffolds(self) -> Tensor:
        """int64 [G]: equal where the scaffolds are, chirality included. Molecules without rings
        have one in common, the empty one; a molecule of which none can be made is alone."""
        found: dict[int, str] = {}
        owners = self.molecules.tolist()
        chem, framework, quiet = _rdkit()
        with quiet():
            for owner, text in zip(owners, self._smiles, strict=True):
                if owner not in found:
                    found[owner] = _written(framework, chem, text)
        return numbered(found[owner] for owner in owners)

    @cached_property
    def repeated(self) -> int:
        """How many molecules are there more than once."""
        return int((torch.bincount(self.molecules) > 1).sum())

    def cut_by(self, folds: Sequence[Split]) -> int:
        """How many molecules are in several parts of one split, or in the test parts of several."""
        if not folds or not self.repeated:
            return 0
        first = folds[0]
        parts = (
            [s.test for s in folds] if len(folds) > 1 else [first.train, first.valid, first.test]
        )
        pairs = [
            torch.stack([self.molecules[ids], torch.full_like(ids, number)])
            for number, ids in enumerate(parts)
        ]
        apart = torch.cat(pairs, 1).unique(dim=1)[0]
        return int((torch.bincount(apart) > 1).sum())


def atoms_and_bonds(graphs: PackedFields, columns: Sequence[int]) -> Tensor:
    """int64 [G]: equal for graphs that have the same nodes with the same neighbours, in whatever
    order. columns: of ``node_cat``, by which nodes are told apart."""
    assert graphs.node_cat is not None
    sizes = [graphs.cat_sizes[column] for column in columns]
    kinds = np.ravel_multi_index([graphs.node_cat[:, column].numpy() for column in columns], sizes)
    draws = np.random.RandomState(0).randint(2**63, size=math.prod(sizes), dtype=np.uint64)
    node = draws[kinds]  # [N]; sums and products are those of 64 bits
    node_ptr, row_ptr = graphs.node_ptr.numpy(), graphs.row_ptr.numpy()
    first = node_ptr[:-1].repeat(np.diff(node_ptr)).repeat(np.diff(row_ptr))  # [E]
    bond = node.repeat(np.diff(row_ptr)) * node[first + graphs.col.numpy()]
    total = _sums(node, node_ptr) + _sums(bond, row_ptr[node_ptr])
    return torch.from_numpy(total.view(np.int64))


def _sums(values: NDArray[np.uint64], ptr: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Of values[ptr[i]:ptr[i+1]]."""
    until = np.concatenate([np.zeros(1, np.uint64), values.cumsum()])
    return until[ptr[1:]] - until[ptr[:-1]]


def numbered(names: Iterable[str]) -> Tensor:
    """int64: the number of each name, counted as they appear."""
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(name, len(numbers)) for name in names]
    return torch.tensor(found, dtype=torch.int64)


def _written(write: Callable[[Any], str], chem: Any, smiles: str) -> str:
    """What is written of a molecule; of one that RDKit refuses, a text that is its own."""
    try:
        return write(parse_smiles(chem, smiles))
    except (BadSmiles, *REFUSED):
        return f"refused: {smiles}"


def _rdkit() -> tuple[Any, Callable[[Any], str], Callable[[], Any]]:
    """RDKit's reader, what writes the scaffold of a molecule, and what silences both."""
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem.Scaffolds import MurckoScaffold
    except ImportError as error:
        raise MissingPackage("rdkit", "chem", "telling equal molecules and scaffolds") from error

    def framework(molecule: Any) -> str:
        return str(MurckoScaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=True))

    return Chem, framework, rdBase.BlockLogs
