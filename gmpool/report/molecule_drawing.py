"""Molecules drawn for pages, in two dimensions."""

import base64
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from gmpool.data.sources.molecules import REFUSED, BadSmiles, parse_smiles
from gmpool.report.recorded_mistakes import LONGEST

_WIDTH, _HEIGHT = 260, 180  # pixels
_MOST_ATOMS = 200  # more are not legible at that size, and a page of them is slow
_DARKER = {9: (0.0, 0.5, 0.5), 16: (0.65, 0.5, 0.0)}  # fluorine and sulfur, hard to read on white


def can_draw() -> bool:
    return find_spec("rdkit") is not None


@lru_cache(4096)
def molecule_svg(smiles: str) -> str | None:
    """An SVG in base64: in an <img>, so that whatever a label says is no part of the page. None
    where RDKit cannot read the molecule, or it is too large for a small picture."""
    if len(smiles) > LONGEST:
        return None
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D
    from rdkit.rdBase import BlockLogs

    with BlockLogs():
        try:
            molecule = parse_smiles(Chem, smiles)
        except (BadSmiles, *REFUSED):
            return None
        if molecule.GetNumAtoms() > _MOST_ATOMS:
            return None
        drawer = rdMolDraw2D.MolDraw2DSVG(_WIDTH, _HEIGHT)
        options: Any = drawer.drawOptions()
        options.updateAtomPalette(_DARKER)
        options.padding = 0.08
        options.bondLineWidth = 2
        options.fixedBondLength = 30.0  # at most: small molecules are not blown up
        drawer.DrawMolecule(molecule)
        drawer.FinishDrawing()
    return base64.b64encode(drawer.GetDrawingText().encode()).decode()
