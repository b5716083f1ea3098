"""SMILES to graphs with the nine atom and three bond features of the Open Graph Benchmark.

Hu et al., "Open Graph Benchmark", NeurIPS 2020. Each feature is the position of a value in a list
whose last entry also takes everything else.
"""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gmpool.data.labels import label_fields
from gmpool.data.pack import pack
from gmpool.data.packed import PackedGraphs
from gmpool.data.packed_fields import Task
from gmpool.errors import DataError, MissingPackage

# atomic number 1..118; chirality; total degree 0..10; charge -5..5; hydrogens 0..8; radical
# electrons 0..4; hybridisation; aromatic; in a ring
ATOM_SIZES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
# type; stereo; conjugated
BOND_SIZES = (5, 6, 2)

_CHIRALITY = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
_HYBRIDISATION = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
_BOND_TYPE = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
_STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY")

ODD_VALENCES = (5, 13, 32)  # B, Al, Ge
SHOWN_ERRORS = 5


class BadSmiles(ValueError):
    """One SMILES cannot be read; the text says why."""


class MoleculePacker:
    """Collects molecules one by one, as bytes, and packs them at the end.

    Atoms are in RDKit's order, each bond is two directed edges. Impossible molecules are refused,
    but for odd valences of boron, aluminium and germanium, which OGB's own sets contain.
    """

    def __init__(self) -> None:
        try:
            from rdkit import Chem, rdBase
        except ImportError as error:
            raise MissingPackage("rdkit", "chem", "reading SMILES") from error
        self._chem = Chem
        self._quiet = rdBase.BlockLogs
        self._chirality = _positions(Chem.ChiralType, _CHIRALITY)
        self._hybridisation = _positions(Chem.HybridizationType, _HYBRIDISATION)
        self._bond_type = _positions(Chem.BondType, _BOND_TYPE)
        self._stereo = _positions(Chem.BondStereo, _STEREO)
        self.smiles: list[str] = []
        self._sizes = array("q")
        self._atoms = bytearray()  # N x 9
        self._bonds = bytearray()  # E x 3
        self._edges = array("q")  # E x 2: source, target, counted over all molecules
        self._num_atoms = 0

    def add(self, smiles: str) -> None:
        """Adds one molecule; raises BadSmiles, and then nothing is added."""
        with self._quiet():
            molecule = self._parse(smiles)
            bonds = [self._bond_features(bond) for bond in molecule.GetBonds()]
            atoms = self._atom_features(molecule)
        for bond, features in zip(molecule.GetBonds(), bonds, strict=True):
            a = self._num_atoms + bond.GetBeginAtomIdx()
            b = self._num_atoms + bond.GetEndAtomIdx()
            self._edges.extend((a, b, b, a))
            self._bonds += bytes(features * 2)
        self._atoms += atoms
        self.smiles.append(smiles)
        self._sizes.append(molecule.GetNumAtoms())
        self._num_atoms += molecule.GetNumAtoms()

    def _atom_features(self, molecule: Any) -> bytes:
        """The features of all atoms, one after the other."""
        features = bytearray()
        misc = ATOM_SIZES
        for atom in molecule.GetAtoms():
            number, charge = atom.GetAtomicNum(), atom.GetFormalCharge()
            features += bytes(
                (
                    number - 1 if 1 <= number <= 118 else misc[0] - 1,
                    self._chirality.get(atom.GetChiralTag(), misc[1] - 1),
                    min(atom.GetTotalDegree(), misc[2] - 1),
                    charge + 5 if -5 <= charge <= 5 else misc[3] - 1,
                    min(atom.GetTotalNumHs(), misc[4] - 1),
                    min(atom.GetNumRadicalElectrons(), misc[5] - 1),
                    self._hybridisation.get(atom.GetHybridization(), misc[6] - 1),
                    atom.GetIsAromatic(),
                    atom.IsInRing(),
                )
            )
        return bytes(features)

    def _bond_features(self, bond: Any) -> tuple[int, ...]:
        return (
            self._bond_type.get(bond.GetBondType(), BOND_SIZES[0] - 1),
            self._stereo.get(bond.GetStereo(), BOND_SIZES[1] - 1),
            bond.GetIsConjugated(),
        )

    def _parse(self, smiles: str) -> Any:
        chem = self._chem
        molecule = chem.MolFromSmiles(smiles)
        if molecule is None:
            molecule = chem.MolFromSmiles(smiles, sanitize=False)
            if molecule is None:
                raise BadSmiles(f"cannot parse SMILES {smiles!r}")
            for problem in chem.DetectChemistryProblems(molecule):
                if not self._forgiven(molecule, problem):
                    raise BadSmiles(f"not a possible molecule {smiles!r}: {problem.Message()}")
            try:
                molecule.UpdatePropertyCache(strict=False)
                chem.SanitizeMol(molecule, chem.SANITIZE_ALL ^ chem.SANITIZE_PROPERTIES)
            except ValueError as error:
                reason = str(error).strip()
                raise BadSmiles(f"not a possible molecule {smiles!r}: {reason}") from error
        if molecule.GetNumAtoms() == 0:
            raise BadSmiles("the SMILES is empty")
        return molecule

    @staticmethod
    def _forgiven(molecule: Any, problem: Any) -> bool:
        """Newer RDKit refuses valences of B, Al and Ge that OGB's sets contain."""
        if problem.GetType() != "AtomValenceException":
            return False
        return molecule.GetAtomWithIdx(problem.GetAtomIdx()).GetAtomicNum() in ODD_VALENCES

    def _feature_sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How many values each atom feature and each bond feature can take."""
        return ATOM_SIZES, BOND_SIZES

    def finish(self, name: str, **labels: Any) -> PackedGraphs:
        """All molecules added so far as one set, named by their SMILES."""
        atom_sizes, bond_sizes = self._feature_sizes()
        edges = torch.from_numpy(np.array(self._edges)).view(-1, 2)  # [E, 2]
        bonds = np.frombuffer(bytes(self._bonds), np.uint8).copy()
        atoms = np.frombuffer(bytes(self._atoms), np.uint8).copy()
        return pack(
            name=name,
            sizes=torch.from_numpy(np.array(self._sizes)),
            source=edges[:, 0],
            target=edges[:, 1],
            node_cat=torch.from_numpy(atoms).view(-1, len(atom_sizes)),
            cat_sizes=atom_sizes,
            edge_cat=torch.from_numpy(bonds).view(-1, len(bond_sizes)),
            edge_cat_sizes=bond_sizes,
            graph_names=tuple(self.smiles),
            **labels,
        )


def _positions(enum: Any, names: Sequence[str]) -> dict[Any, int]:
    return {getattr(enum, name): position for position, name in enumerate(names)}


def from_smiles(
    smiles: Sequence[str],
    y: Any = None,
    *,
    task: Task | None = None,
    task_names: Sequence[str] | None = None,
    name: str = "molecules",
) -> PackedGraphs:
    """One graph per SMILES; ``y`` holds a number, or a row of T, for each (NaN = missing).

    Raises DataError that names the first rows that cannot be read. The task is inferred from y as
    :func:`gmpool.data.labels.infer_task` says, unless given.
    """
    packer = MoleculePacker()
    bad = []
    for row, text in enumerate(smiles):
        try:
            packer.add(text)
        except BadSmiles as error:
            bad.append(f"row {row}: {error}")
    if bad:
        shown = "\n  ".join(bad[:SHOWN_ERRORS])
        raise DataError(f"{name}: {len(bad)} of {len(smiles)} SMILES cannot be read:\n  {shown}")
    if not packer.smiles:
        raise DataError(f"{name}: no SMILES given")
    if y is None:
        return packer.finish(name)
    values = np.asarray(y, dtype=np.float64)
    values = values.reshape(len(values), -1)  # [G, T]
    if len(values) != len(smiles):
        raise DataError(f"{name}: {len(values)} labels for {len(smiles)} SMILES")
    names = tuple(task_names or (f"y{i}" for i in range(values.shape[1])))
    return packer.finish(name, **label_fields(values, names, task, name))
