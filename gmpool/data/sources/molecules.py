"""SMILES to graphs with the nine atom and three bond features of the Open Graph Benchmark.

Hu et al., "Open Graph Benchmark", NeurIPS 2020. Each feature is the position of a value in a list
whose last entry also takes everything else.
"""

import re
from array import array
from collections.abc import Sequence
from typing import Any, Protocol

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

# RDKit follows a molecule by recursion: writing a chain of 20,000 atoms ends the process, and rings
# of 10,000 take eight seconds. At 2,000 all it does takes a fraction of a second; the largest
# molecule of the named sets has 222.
MOST_ATOMS = 2_000
_MOST_LETTERS = 20_000
_ATOM = re.compile(r"\[[^\]]*\]|Br|Cl|[BCNOPSFIbcnops*]")
# RDKit keeps these in a byte: [#256] would be atom 0, [CH256] have no hydrogen.
_WIDE_NUMBER = re.compile(r"\[[^\]]*?([#H+-]\d{3,})")
_ELEMENTS = 118
_SHOWN_LETTERS = 200
# What RDKit raises; its own classes, such as that of a bond that cannot be kekulised, are these.
REFUSED = (RuntimeError, ValueError, OverflowError)


class BadSmiles(ValueError):
    """One SMILES cannot be read; the text says why."""


class OfWhole(Protocol):
    """Numbers of a whole molecule, NaN where one is not defined."""

    names: tuple[str, ...]

    def __call__(self, molecule: Any) -> list[float]: ...


class MoleculePacker:
    """Collects molecules one by one, as bytes, and packs them at the end.

    Atoms are in RDKit's order, each bond is two directed edges. Impossible molecules are refused,
    but for odd valences of boron, aluminium and germanium, which OGB's own sets contain.
    """

    def __init__(self, of_whole: OfWhole | None = None) -> None:
        """of_whole: what gives numbers of a whole molecule, which are then features of graphs."""
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
        self._of_whole = of_whole
        self._whole: list[list[float]] = []

    def add(self, smiles: str) -> None:
        """Adds one molecule; raises BadSmiles, and then nothing is added."""
        _check_text(smiles)
        with self._quiet():
            try:
                molecule = self.read(smiles)
                # By number: each step through GetBonds() asks for its length again.
                bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
                features = [self._bond_features(bond) for bond in bonds]
                atoms = self._atom_features(molecule)
                if self._of_whole is not None:
                    self._whole.append(self._of_whole(molecule))
            except BadSmiles:
                raise
            except REFUSED as error:
                raise _impossible(smiles, _reason(error)) from error
        for bond, of_bond in zip(bonds, features, strict=True):
            a = self._num_atoms + bond.GetBeginAtomIdx()
            b = self._num_atoms + bond.GetEndAtomIdx()
            self._edges.extend((a, b, b, a))
            self._bonds += bytes(of_bond * 2)
        self._atoms += atoms
        self.smiles.append(smiles)
        self._sizes.append(molecule.GetNumAtoms())
        self._num_atoms += molecule.GetNumAtoms()

    def _atom_features(self, molecule: Any) -> bytes:
        """The features of all atoms, one after the other."""
        features = bytearray()
        misc = ATOM_SIZES
        for i in range(molecule.GetNumAtoms()):
            atom = molecule.GetAtomWithIdx(i)
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

    def read(self, smiles: str) -> Any:
        return parse_smiles(self._chem, smiles)

    def _feature_sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """How many values each atom feature and each bond feature can take."""
        return ATOM_SIZES, BOND_SIZES

    def finish(self, name: str, **labels: Any) -> PackedGraphs:
        """All molecules added so far as one set, named by their SMILES."""
        atom_sizes, bond_sizes = self._feature_sizes()
        edges = torch.from_numpy(np.array(self._edges)).view(-1, 2)  # [E, 2]
        bonds = np.frombuffer(bytes(self._bonds), np.uint8).copy()
        atoms = np.frombuffer(bytes(self._atoms), np.uint8).copy()
        if self._of_whole is not None:
            names = self._of_whole.names
            rows = np.array(self._whole, dtype=np.float32).reshape(-1, len(names))
            labels |= {"graph_float": torch.from_numpy(rows), "graph_float_names": names}
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


def parse_smiles(chem: Any, smiles: str) -> Any:
    """RDKit's molecule; raises BadSmiles, or what RDKit raises, for one that cannot be.

    chem: ``rdkit.Chem``, an optional package.
    """
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        molecule = chem.MolFromSmiles(smiles, sanitize=False)
        if molecule is None:
            raise BadSmiles(f"cannot parse SMILES {_shown(smiles)}")
        for problem in chem.DetectChemistryProblems(molecule):
            if not _forgiven(molecule, problem):
                raise _impossible(smiles, problem.Message())
        molecule.UpdatePropertyCache(strict=False)
        chem.SanitizeMol(molecule, chem.SANITIZE_ALL ^ chem.SANITIZE_PROPERTIES)
    if molecule.GetNumAtoms() == 0:
        raise BadSmiles("the SMILES is empty")
    return molecule


def _forgiven(molecule: Any, problem: Any) -> bool:
    """Newer RDKit refuses valences of B, Al and Ge that OGB's sets contain."""
    if problem.GetType() != "AtomValenceException":
        return False
    return molecule.GetAtomWithIdx(problem.GetAtomIdx()).GetAtomicNum() in ODD_VALENCES


def _check_text(smiles: str) -> None:
    """Raises BadSmiles for what RDKit had better not be given."""
    if not isinstance(smiles, str):
        raise BadSmiles(f"{smiles!r} is no SMILES but {type(smiles).__name__}")
    for number in _WIDE_NUMBER.findall(smiles) if "[" in smiles else ():
        if number[0] != "#" or int(number[1:6]) > _ELEMENTS:
            raise _impossible(smiles, f"{_shown(number)} is beyond what an atom can have")
    if len(smiles) <= MOST_ATOMS:  # each atom has a letter
        return
    atoms = sum(1 for _ in _ATOM.finditer(smiles))
    if atoms > MOST_ATOMS or len(smiles) > _MOST_LETTERS:
        raise BadSmiles(
            f"a SMILES of {len(smiles):,} characters and {atoms:,} atoms, where at most "
            f"{_MOST_LETTERS:,} and {MOST_ATOMS:,} are read: {_shown(smiles)}"
        )


def _impossible(smiles: str, reason: str) -> BadSmiles:
    return BadSmiles(f"not a possible molecule {_shown(smiles)}: {reason}")


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]!r}…"


def _reason(error: Exception) -> str:
    """The sentence in what RDKit says, whose failed assertions fill a page."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "Violation" not in line), type(error).__name__)


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
