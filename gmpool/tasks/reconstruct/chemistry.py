"""What reconstructed atom types are worth to a chemist: validity, exact match and accuracy."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from torch import Tensor

from gmpool.data import PackedGraphs
from gmpool.data.batch import Ids
from gmpool.data.sources.atom_types import BOND_TYPES, AtomType
from gmpool.errors import DataError, MissingPackage


@dataclass(frozen=True)
class MoleculeScores:
    """Shares in percent: of atoms for the accuracy, else of molecules."""

    accuracy: float
    """Atoms that have their type back."""
    validity: float
    """Molecules that RDKit accepts, with the hydrogens and charges that their types say."""
    exact_types: float
    """Molecules that have every type back."""
    exact_smiles: float
    """Molecules with the same canonical SMILES when atoms are nothing but elements, as the
    published code writes them: "N H1 +" is then as good as "N", and a symmetry may help."""


def has_molecules(graphs: PackedGraphs) -> bool:
    """Whether atom types and bonds are known, so that chemists have something to say."""
    return bool(graphs.node_type_names) and graphs.edge_cat is not None


def molecule_scores(graphs: PackedGraphs, ids: Ids, predicted: Tensor) -> MoleculeScores:
    """Scores of predicted types for the molecules ``ids``, whose true bonds are given.

    predicted: int [N], one type per atom of these molecules, in their order.
    """
    molecules = Molecules(graphs, ids)
    guessed = predicted.cpu().numpy()
    molecules.check(guessed)
    right = guessed == molecules.types  # [N]
    whole = [bool(right[part].all()) for part in molecules.parts]
    with molecules.quiet():
        valid = [molecules.is_valid(i, guessed) for i in range(len(molecules))]
        same = [molecules.same_elements(i, guessed) for i in range(len(molecules))]
    return MoleculeScores(
        accuracy=_percent(right), validity=_percent(valid), exact_types=_percent(whole),
        exact_smiles=_percent(same),
    )  # fmt: skip


def _percent(answers: Any) -> float:
    return 100 * float(np.mean(answers))


class Molecules:
    """Some molecules of a set as RDKit sees them, with their own or with other atom types."""

    def __init__(self, graphs: PackedGraphs, ids: Ids) -> None:
        try:
            from rdkit import Chem, rdBase
        except ImportError as error:
            raise MissingPackage("rdkit", "chem", "building molecules") from error
        batch = graphs.batch(ids)
        if not graphs.node_type_names or batch.node_cat is None or batch.edge_cat is None:
            raise DataError(
                f"{graphs.name}: its nodes have no named atom types; read molecules with "
                'load_table(path, atoms="types")'
            )
        if not batch.num_graphs:
            raise DataError(
                f"{graphs.name}: no molecule is asked for, so there is nothing to score"
            )
        self._chem = Chem
        self.quiet = rdBase.BlockLogs
        """Within ``with molecules.quiet():`` RDKit does not report what it refuses."""
        self.name = graphs.name
        self.kinds = tuple(AtomType.parse(name) for name in graphs.node_type_names)
        self.types: np.ndarray = batch.node_cat[:, 0].cpu().numpy()
        """int64 [N]: the true types."""
        first = batch.ptr.tolist()
        self.parts = [slice(a, b) for a, b in pairwise(first)]
        """Where each molecule's atoms lie in [N]."""
        numbers = Chem.GetPeriodicTable()
        self._elements = np.array([numbers.GetAtomicNumber(kind.symbol) for kind in self.kinds])
        kinds_of_bond = [getattr(Chem.BondType, name) for name in BOND_TYPES]
        self._bonds: list[list[tuple[int, int, Any]]] = [[] for _ in self.parts]
        graph = batch.batch.tolist()
        ends = batch.edge_index.tolist()
        for a, b, kind in zip(*ends, batch.edge_cat[:, 0].tolist(), strict=True):
            if a < b:  # each bond is two edges
                i = graph[a]
                self._bonds[i].append((a - first[i], b - first[i], kinds_of_bond[kind]))

    def __len__(self) -> int:
        return len(self.parts)

    def check(self, types: np.ndarray) -> None:
        """Raises DataError unless there is one known type for each atom."""
        if types.shape != self.types.shape:
            raise DataError(
                f"{self.name}: the predicted types have the shape {list(types.shape)}, but these "
                f"{len(self)} molecules have {len(self.types)} atoms"
            )
        if types.min() < 0 or types.max() >= len(self.kinds):
            bad = types.min() if types.min() < 0 else types.max()
            raise DataError(f"{self.name}: type {bad} is not in 0..{len(self.kinds) - 1}")

    def build(self, i: int, types: np.ndarray, *, elements_only: bool = False) -> Any:
        """Molecule i with the types [N] and its true bonds: an RDKit RWMol, not sanitised."""
        molecule = self._chem.RWMol()
        for number in types[self.parts[i]].tolist():
            kind = self.kinds[number]
            atom = self._chem.Atom(int(self._elements[number]))
            if not elements_only:
                atom.SetNumExplicitHs(kind.hydrogens)
                atom.SetFormalCharge(kind.charge)
            molecule.AddAtom(atom)
        for a, b, bond in self._bonds[i]:
            molecule.AddBond(a, b, bond)
        return molecule

    def is_valid(self, i: int, types: np.ndarray) -> bool:
        """Whether RDKit can sanitise molecule i with these types."""
        ok = self._chem.SanitizeFlags.SANITIZE_NONE
        return bool(self._chem.SanitizeMol(self.build(i, types), catchErrors=True) == ok)

    def same_elements(self, i: int, types: np.ndarray) -> bool:
        """Whether molecule i has the same canonical SMILES when only elements and bonds count."""
        mine, true = (self._elements[t[self.parts[i]]] for t in (types, self.types))
        if (mine == true).all():
            return True
        if sorted(mine) != sorted(true):
            return False
        return self._element_smiles(i, types) == self._element_smiles(i, self.types)

    def _element_smiles(self, i: int, types: np.ndarray) -> str:
        """Without a look at valences: those of a nitro group without charges are not allowed."""
        molecule = self.build(i, types, elements_only=True)
        molecule.UpdatePropertyCache(strict=False)
        rules = self._chem.SANITIZE_ALL ^ self._chem.SANITIZE_PROPERTIES
        self._chem.SanitizeMol(molecule, rules)
        return str(self._chem.MolToSmiles(molecule))
