"""What RDKit and rdchiral are asked: canonical molecules, matching centers, outcomes of templates.

Nothing else in this package but `features.py` imports them, so that a prepared file is enough where
they are not installed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from gmpool.errors import DataError, MissingPackage
from gmpool.plain_text import shortened

_BITS = 2048
_NUMBERS = re.compile(r":(\d+)\]")
_REMEMBERED = 2**14


class BadReaction(DataError):
    """A row is no reaction that can be learned from."""


class TooSlow(Exception):
    """A product took longer than it may."""


@cache
def rdkit() -> Any:
    """rdkit.Chem; what RDKit has to say of each molecule is not said."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingPackage("rdkit", "retro", "reading molecules") from error
    rdBase.DisableLog("rdApp.*")
    return Chem


@cache
def rdchiral() -> Any:
    """The package that runs templates, quietly."""
    try:
        import rdchiral.initialization
        import rdchiral.main
    except ImportError as error:
        raise MissingPackage("rdchiral-plus", "retro", "running templates") from error
    from loguru import logger

    logger.disable("rdchiral")
    return rdchiral


@lru_cache(_REMEMBERED)
def canonical(smiles: str) -> str | None:
    """One molecule as RDKit writes it, without numbers of atoms and without hydrogens that need not
    be written; None: it cannot be read."""
    chem = rdkit()
    molecule = chem.MolFromSmiles(smiles)
    if molecule is not None and ":" in smiles:  # may be numbers, on which its stereo may rest
        for atom in molecule.GetAtoms():
            atom.SetAtomMapNum(0)
        molecule = chem.MolFromSmiles(chem.MolToSmiles(molecule))
    return None if molecule is None else str(chem.MolToSmiles(molecule))


def canonical_set(smiles: str) -> tuple[str, ...] | None:
    """The molecules of a SMILES with dots, sorted; None: one cannot be read."""
    found = [canonical(part) for part in smiles.split(".")]
    return None if None in found else tuple(sorted(filter(None, found)))


def read_reaction(text: str) -> tuple[str, tuple[str, ...]]:
    """(product, reactants), canonical, of reactants>>product or reactants>reagents>product"""
    parts = text.strip().split(">")
    if len(parts) != 3 or not parts[0] or not parts[2]:
        raise BadReaction(f"{shortened(text)!r} is not reactants>>product")
    product, reactants = canonical_set(parts[2]), canonical_set(parts[0])
    for part, found in ((parts[2], product), (parts[0], reactants)):
        if found is None:
            raise BadReaction(f"RDKit cannot read {shortened(part)!r}")
    assert product is not None
    assert reactants is not None
    if len(product) != 1:
        raise BadReaction(f"{len(product)} products, and templates are for one")
    return product[0], reactants


def center_of(template: str) -> str:
    """The product's side of a template, without numbers of atoms: two templates with one center
    match alike."""
    return pattern_text(template.split(">>")[0])


def pattern_text(smarts: str) -> str:
    """A SMARTS without numbers of atoms, as RDKit writes it."""
    chem = rdkit()
    pattern = chem.MolFromSmarts(smarts[1:-1] if _wrapped(smarts) else smarts)
    if pattern is None:
        raise BadReaction(f"RDKit cannot read the pattern {shortened(smarts)!r}")
    for atom in pattern.GetAtoms():
        atom.SetAtomMapNum(0)
    return str(chem.MolToSmarts(pattern))


def _wrapped(smarts: str) -> bool:
    """(A.B), which says that both lie in one molecule."""
    if not (smarts.startswith("(") and smarts.endswith(")")):
        return False
    depth = 0
    for at, letter in enumerate(smarts):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at == len(smarts) - 1
    return False


def extracted_template(text: str) -> str:
    """The template of a reaction whose atoms have numbers, from product to reactants."""
    rdchiral()
    from rdchiral.template_extractor import extract_from_reaction

    reactants, _, product = text.strip().split(">")
    try:
        found = extract_from_reaction({"_id": 0, "reactants": reactants, "products": product})
    except Exception as error:  # whatever it stumbles over, the row is of no use
        raise BadReaction(f"no template can be taken from it ({error})") from error
    template = (found or {}).get("reaction_smarts")
    if not template:
        raise BadReaction("no template can be taken from it: are its atoms numbered?")
    return str(template)


class Matcher:
    """Which of many centers a product has. Fingerprints leave few to be matched."""

    def __init__(self, centers: Sequence[str]) -> None:
        self._patterns = [rdkit().MolFromSmarts(center) for center in centers]
        for pattern in self._patterns:
            pattern.UpdatePropertyCache(strict=False)
        rows = [self._bits(pattern) for pattern in self._patterns]
        self._asked = np.stack(rows) if rows else np.zeros((0, _BITS // 64), dtype=np.uint64)

    @staticmethod
    def _bits(molecule: Any) -> np.ndarray:
        from rdkit import DataStructs

        bits = rdkit().PatternFingerprint(molecule, fpSize=_BITS)
        return np.frombuffer(DataStructs.BitVectToBinaryText(bits), dtype=np.uint64)

    def __call__(self, product: str) -> list[int]:
        molecule = rdkit().MolFromSmiles(product)
        lacking = (self._asked & ~self._bits(molecule)).any(1)
        return [
            int(at)
            for at in np.flatnonzero(~lacking)
            if molecule.HasSubstructMatch(self._patterns[at])
        ]


class Product:
    """A product as templates are run on it. molecule: without stereo, where it has none anyway."""

    def __init__(self, smiles: str) -> None:
        self.smiles = smiles
        molecule = rdkit().MolFromSmiles(smiles)
        self.molecule = None if _has_stereo(molecule) or "." in smiles else molecule
        self._known: Any = None

    @property
    def known(self) -> Any:
        """As rdchiral has it, made when it is asked for."""
        if self._known is None:
            self._known = rdchiral().initialization.rdchiralReactants(self.smiles)
        return self._known


class _Template:
    """A template by RDKit alone, where it says nothing of stereo, and by rdchiral."""

    def __init__(self, template: str) -> None:
        from rdkit.Chem import rdChemReactions

        product, reactants = template.split(">>")
        if _wrapped(product):  # both parts in the one product, which rdchiral says by itself
            product = product[1:-1]
        # Atoms that leave may be numbered, and rdchiral looks for their numbers in the product.
        known = set(_NUMBERS.findall(product))
        reactants = _NUMBERS.sub(lambda n: n[0] if n[1] in known else "]", reactants)
        self.text, self._known = f"{product}>>{reactants}", None
        self.plain = None
        if "." not in product and not any(mark in template for mark in "@/\\"):
            self.plain = rdChemReactions.ReactionFromSmarts(self.text)
            self.plain.Initialize()
            asked, made = self.plain.GetReactants(), self.plain.GetProducts()
            self.more_atoms = _count(made, "GetNumAtoms") - _count(asked, "GetNumAtoms")
            self.more_bonds = _count(made, "GetNumBonds") - _count(asked, "GetNumBonds")

    @property
    def known(self) -> Any:
        if self._known is None:
            self._known = rdchiral().initialization.rdchiralReaction(self.text)
        return self._known

    def outcomes(self, product: Product) -> list[str] | None:
        """Of a product and a template without stereo: there RDKit says what rdchiral would, unless
        the outcome has other atoms or bonds than the template gives and takes. None: it may not."""
        if self.plain is None or (molecule := product.molecule) is None:
            return None
        atoms = molecule.GetNumAtoms() + self.more_atoms
        bonds = molecule.GetNumBonds() + self.more_bonds
        texts = []
        for made in self.plain.RunReactants((molecule,)):
            if _count(made, "GetNumAtoms") != atoms or _count(made, "GetNumBonds") != bonds:
                return None
            texts.append(".".join(map(rdkit().MolToSmiles, made)))
        return texts


def _count(molecules: Sequence[Any], what: str) -> int:
    return sum(getattr(molecule, what)() for molecule in molecules)


def _has_stereo(molecule: Any) -> bool:
    chem = rdkit()
    return any(
        atom.GetChiralTag() != chem.ChiralType.CHI_UNSPECIFIED for atom in molecule.GetAtoms()
    ) or any(bond.GetStereo() != chem.BondStereo.STEREONONE for bond in molecule.GetBonds())


class Reactor:
    """Runs templates, each read once. plain: let RDKit alone do what needs no rdchiral."""

    def __init__(self, templates: Sequence[str], *, plain: bool = True) -> None:
        self._templates, self._plain = templates, plain
        self._read = lru_cache(None)(self._template)

    def _template(self, number: int) -> _Template | None:
        try:
            return _Template(self._templates[number])
        except Exception:  # RDKit's own errors are of no common kind; it has no outcomes then
            return None

    def run(self, number: int, product: Product) -> list[tuple[str, ...]]:
        """The outcomes of a template, each a sorted set of canonical molecules; none twice."""
        template = self._read(number)
        if template is None:
            return []
        texts = template.outcomes(product) if self._plain else None
        if texts is None:
            try:
                texts = rdchiral().main.rdchiralRun(template.known, product.known)
            except Exception:  # rdchiral raises where RDKit refuses what a template would make
                return []
        return sorted({found for text in set(texts) if (found := canonical_set(text))})


class Clock:
    """Raises TooSlow when more seconds have gone by than a product may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._end:
            raise TooSlow
