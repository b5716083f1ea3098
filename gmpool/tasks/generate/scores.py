"""What many drawn molecules are worth: how many are valid, distinct and new, and what they are."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gmpool.errors import DataError, MissingPackage, UserError
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.molecules import Chemist, may_lack_hydrogen, settled_smiles

MOST_MEASURED = 1000
"""Properties are means over so many of the valid molecules."""
RANGES = {"qed": (0.0, 1.0), "logp": (-5.0, 5.0), "sa": (1.0, 9.0)}
"""Of histograms; what lies outside counts as the nearest end."""
BINS = 20
MOST_RINGS = 6
"""Molecules with more are counted with those that have so many."""
_REMEMBERED = 2**16  # rows and properties: what a generator draws, it draws again


@dataclass(frozen=True)
class DrawScores:
    """Shares in percent; NaN where there is nothing to take a share or a mean of."""

    draws: int
    loose: float
    """Of the draws: RDKit accepts them; places without atom may hang on, parts may be apart."""
    strict: float
    """Of the draws: one connected molecule of atoms alone. "Valid" below."""
    unique: float
    """Distinct molecules, of the valid draws."""
    novel: float
    """Those that are not in the training set, of the distinct valid ones."""
    vun: float
    """Distinct valid molecules that are new, of the draws: strict · unique · novel / 100²."""
    distinct: int
    """Valid molecules without repeats."""
    qed: float
    """Mean over the first MOST_MEASURED valid draws, as logp and sa: drug-likeness, 0 to 1."""
    logp: float
    """Octanol-water partition coefficient after Wildman and Crippen."""
    sa: float
    """Synthetic accessibility after Ertl and Schuffenhauer, 1 (easy) to 10."""
    rings: list[int]
    """Valid draws with 0, 1, … MOST_RINGS or more independent rings."""
    histograms: dict[str, dict[str, Any]]
    """Of the properties of those that they are means over: low and high end, and counts."""


class DrawScorer:
    """Scores rows uint8 [M, width]. training: canonical SMILES of the training set."""

    def __init__(self, alphabet: Alphabet, training: frozenset[str]) -> None:
        self.alphabet = alphabet
        self.training = training
        self._chemist = Chemist(alphabet)
        self._read = lru_cache(_REMEMBERED)(self._smiles_of_row)
        self.measured = lru_cache(_REMEMBERED)(_measure)
        """One of MEASURES, by its name, of a valid molecule, by its SMILES."""

    def __reduce__(self) -> tuple[type[DrawScorer], tuple[Alphabet, frozenset[str]]]:
        return type(self), (self.alphabet, self.training)

    def score(self, rows: np.ndarray) -> DrawScores:
        """M must not be 0."""
        draws = len(rows)
        if not draws:
            raise DataError("no molecule was drawn, so there is nothing to score")
        found = list(self._all(rows))
        valid = [strict for _, strict in found if strict is not None]
        distinct = set(valid)
        new = distinct - self.training
        first = valid[:MOST_MEASURED]
        return DrawScores(
            draws=draws,
            loose=_percent(sum(loose for loose, _ in found), draws),
            strict=_percent(len(valid), draws),
            unique=_percent(len(distinct), len(valid)),
            novel=_percent(len(new), len(distinct)),
            vun=_percent(len(new), draws),
            distinct=len(distinct),
            qed=self._mean("qed", first),
            logp=self._mean("logp", first),
            sa=self._mean("sa", first),
            rings=self._rings(rows[[strict is not None for _, strict in found]]),
            histograms={what: self.histogram(what, first) for what in MEASURES},
        )

    def first_valid(self, rows: np.ndarray, count: int) -> list[str]:
        """SMILES of the first `count` valid draws, in the order of the draws, with repeats."""
        return list(islice(filter(None, self.smiles(rows)), count))

    def smiles(self, rows: np.ndarray) -> Iterator[str | None]:
        """Canonical SMILES of each draw, None where it is not valid. [M]"""
        return (strict for _, strict in self._all(rows))

    def histogram(self, what: str, smiles: Sequence[str]) -> dict[str, Any]:
        """How one of MEASURES is spread over valid molecules."""
        low, high = RANGES[what]
        values = np.clip([self.measured(what, text) for text in smiles], low, high)
        counts, _ = np.histogram(values, BINS, (low, high))
        return {"low": low, "high": high, "counts": counts.tolist()}

    def check(self, rows: np.ndarray) -> None:
        """Raises DataError unless they are molecules of this alphabet."""
        kinds = [self.alphabet.atom_kinds, self.alphabet.bond_kinds]
        most = np.repeat(kinds, [self.alphabet.places, self.alphabet.pairs])
        if rows.dtype != np.uint8 or rows.shape[1:] != most.shape or (rows >= most).any():
            raise DataError(
                f"drawn molecules must be uint8 [M, {len(most)}] with kinds of this alphabet, got "
                f"{rows.dtype} {list(rows.shape)}"
            )

    def _all(self, rows: np.ndarray) -> Iterator[tuple[bool, str | None]]:
        """Of each draw, whether it is loosely valid, and its strict SMILES."""
        self.check(rows)
        return (self._read(row.tobytes()) for row in rows)

    def _smiles_of_row(self, row: bytes) -> tuple[bool, str | None]:
        loose = self._chemist.loose(np.frombuffer(row, dtype=np.uint8))
        return loose is not None, self._chemist.one_molecule(loose)

    def _mean(self, what: str, smiles: Sequence[str]) -> float:
        values = [self.measured(what, text) for text in smiles]
        return float(np.mean(values)) if values else float("nan")

    def _rings(self, rows: np.ndarray) -> list[int]:
        """Of connected molecules: a bond more than a tree has closes a ring."""
        atoms, bonds = np.split(rows > 0, [self.alphabet.places], axis=1)
        rings = bonds.sum(1) - atoms.sum(1) + 1
        return np.bincount(np.minimum(rings, MOST_RINGS), minlength=MOST_RINGS + 1).tolist()


def canonical(smiles: Sequence[str]) -> list[str]:
    """The SMILES that DrawScorer gives these molecules when they are drawn: canonical, without
    stereo, and one for all tautomers that differ in the hydrogens of aromatic nitrogens alone."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingPackage("rdkit", "chem", "reading SMILES") from error
    with rdBase.BlockLogs():
        return [_canonical(Chem, text) for text in smiles]


def _canonical(chem: Any, smiles: str) -> str:
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise DataError(f"RDKit cannot read the SMILES {smiles!r:.200}")
    written = str(chem.MolToSmiles(molecule, isomericSmiles=False))
    known = [a for a in molecule.GetAtoms() if may_lack_hydrogen(a) and a.GetTotalNumHs()]
    for atom in known:
        atom.SetNumExplicitHs(0)
        atom.SetNoImplicit(False)
    settled = settled_smiles(chem.RWMol(molecule)) if known else None
    return settled or written


def _percent(some: int, of: int) -> float:
    return 100 * some / of if of else float("nan")


def _qed(molecule: Any) -> float:
    from rdkit.Chem import QED

    return float(QED.qed(molecule))


def _logp(molecule: Any) -> float:
    from rdkit.Chem import rdMolDescriptors

    return float(rdMolDescriptors.CalcCrippenDescriptors(molecule)[0])


def _sa(molecule: Any) -> float:
    return float(_sa_module().calculateScore(molecule))


MEASURES: dict[str, Callable[[Any], float]] = {"qed": _qed, "logp": _logp, "sa": _sa}


def _measure(what: str, smiles: str) -> float:
    from rdkit import Chem

    return MEASURES[what](Chem.MolFromSmiles(smiles))


@cache
def _sa_module() -> Any:
    """RDKit's own, which comes with it and is not part of its package."""
    from rdkit import RDConfig

    path = Path(RDConfig.RDContribDir) / "SA_Score" / "sascorer.py"
    spec = importlib.util.spec_from_file_location("sascorer", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UserError(
            f"synthetic accessibility needs {path}, which this build of RDKit lacks; install "
            f"RDKit as a wheel: pip install rdkit"
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
