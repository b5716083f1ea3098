"""A page of molecules: left the original with clusters as colours, right what was rebuilt of it."""

import io
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from matplotlib.patches import Circle
from torch import Tensor

from gmpool.data import PackedGraphs
from gmpool.data.batch import Ids
from gmpool.errors import DataError, UserError
from gmpool.report.figures import SAFE_COLOURS, label_text, png, spaced_figure
from gmpool.tasks.reconstruct.chemistry import Molecules

WIDTH, HEIGHT = 460, 310  # pixels of a panel
_BOND = 1.5  # how long RDKit draws one, in its own unit
_RING = 0.5  # of a bond, the radius of a red ring
_SHOWN_MISTAKES = 3
_DARKER = {9: (0.0, 0.5, 0.5), 16: (0.65, 0.5, 0.0)}  # fluorine and sulfur, hard to read on white
RULE = (
    "Molecules are sorted by the share of right atoms of {first}, then by size, then by index: the "
    "last, the middle and the first are shown."
)


class RebuiltMolecules(NamedTuple):
    """What one method made of some molecules; N atoms in all."""

    label: str
    predicted: Tensor
    """int [N]: types."""
    clusters: Tensor
    """int [N]: the cluster of most of an atom, below 0 for none."""


def cases(shares: Sequence[float], sizes: Sequence[int], each: int) -> list[tuple[str, int]]:
    """("best", position), …: so many of each kind, the extreme first; fewer where there are fewer.

    Sorted by (share, size, position): the last are the best, the first the worst, and the median
    ones lie around the middle. No molecule comes twice.
    """
    order = sorted(range(len(shares)), key=lambda i: (shares[i], sizes[i], i))
    middle = max(0, (len(order) - each) // 2)
    picked = {
        "best": order[::-1][:each],
        "median": order[middle : middle + each],
        "worst": order[:each],
    }
    kinds: dict[int, str] = {}
    for kind, positions in picked.items():
        for position in positions:
            kinds.setdefault(position, kind)
    return [(kind, position) for position, kind in kinds.items()]


def molecule_page(
    graphs: PackedGraphs, ids: Ids, methods: Sequence[RebuiltMolecules], *, each: int = 2
) -> bytes:
    """A PNG with a row per case and two panels per method, drawn with RDKit.

    ids: the molecules that the predictions are for. The cases are chosen by the first method and
    are the same for all. A red dashed ring marks an atom of a wrong type.
    """
    if not methods:
        raise UserError("there is no method to draw; give at least one")
    if each < 1:
        raise UserError(f"each must be at least 1, got {each}")
    molecules = Molecules(graphs, ids)
    for method in methods:
        molecules.check(method.predicted.cpu().numpy())
        if method.clusters.shape != method.predicted.shape:
            raise DataError(
                f"{method.label}: clusters {list(method.clusters.shape)} for predicted types "
                f"{list(method.predicted.shape)}"
            )
    right = methods[0].predicted.cpu().numpy() == molecules.types
    shares = [float(right[part].mean()) for part in molecules.parts]
    chosen = cases(shares, [part.stop - part.start for part in molecules.parts], each)
    figure = spaced_figure(7.0 * len(methods), 2.7 * len(chosen) + 0.7, dpi=130)
    panels = figure.subplots(len(chosen), 2 * len(methods), squeeze=False)
    with molecules.quiet():
        for row, (kind, i) in enumerate(chosen):
            drawn = _Drawing(molecules, i)
            for column, method in enumerate(methods):
                left, rebuilt = panels[row, 2 * column : 2 * column + 2]
                drawn.original(left, method)
                drawn.rebuilt(rebuilt, method)
            panels[row, 0].set_ylabel(kind, fontsize=12)
    labels = [label_text(method.label) for method in methods]
    for column, label in enumerate(labels):
        panels[0, 2 * column].set_title(f"{label}: clusters", fontsize=12)
        panels[0, 2 * column + 1].set_title(f"{label}: rebuilt", fontsize=12)
    rule = textwrap.fill(RULE.format(first=labels[0]), 90 * len(methods))
    figure.supxlabel(rule, fontsize=9, color="#444444")
    return png(figure)


class _Drawing:
    """One molecule in one layout, whatever its atoms are."""

    def __init__(self, molecules: Molecules, i: int) -> None:
        from rdkit.Chem import rdDepictor

        self._all, self._i = molecules, i
        self._part = molecules.parts[i]
        true = self._ready(molecules.types)
        rdDepictor.Compute2DCoords(true)
        self._layout = true.GetConformer()

    def _ready(self, types: np.ndarray) -> Any:
        """With types that may not be possible: nothing is checked, bonds stay as they are."""
        from rdkit import Chem

        molecule = self._all.build(self._i, types)
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        return molecule

    def original(self, axes: Axes, method: RebuiltMolecules) -> None:
        clusters = method.clusters[self._part].tolist()
        colours = {
            atom: (*_colour(cluster), 0.55) for atom, cluster in enumerate(clusters) if cluster >= 0
        }
        self._draw(axes, self._all.types, colours)
        used = len({cluster for cluster in clusters if cluster >= 0})
        axes.set_xlabel(f"{len(clusters)} atoms, {used} of the clusters", fontsize=9)

    def rebuilt(self, axes: Axes, method: RebuiltMolecules) -> None:
        types = method.predicted.cpu().numpy()
        places, bond = self._draw(axes, types, {})
        mine, true = types[self._part], self._all.types[self._part]
        wrong = np.flatnonzero(mine != true).tolist()
        for atom in wrong:
            axes.add_patch(Circle(places[atom], _RING * bond, fill=False, color="#d62728",
                                  linewidth=1.4, linestyle=(0, (3, 2))))  # fmt: skip
        said = f"{len(mine) - len(wrong)} of {len(mine)} atoms right"
        if not self._all.is_valid(self._i, types):
            said += ", not a possible molecule"
        if wrong:
            said += f"\n{self._mistakes(mine[wrong], true[wrong])}"
        axes.set_xlabel(said, fontsize=9)

    def _mistakes(self, mine: np.ndarray, true: np.ndarray) -> str:
        """Which types stand for which, the most frequent first."""
        names = [kind.name for kind in self._all.kinds]
        pairs = zip(mine.tolist(), true.tolist(), strict=True)
        found = Counter(f"{names[a]} for {names[b]}" for a, b in pairs).most_common()
        said = [f"{what} × {n}" if n > 1 else what for what, n in found[:_SHOWN_MISTAKES]]
        rest = len(found) - len(said)
        return ", ".join(said) + (f", and {rest} more" if rest else "")

    def _draw(
        self, axes: Axes, types: np.ndarray, colours: dict[int, tuple[float, float, float, float]]
    ) -> tuple[list[tuple[float, float]], float]:
        """Draws the molecule; returns where its atoms are, and how long a bond is, in pixels."""
        from rdkit.Chem.Draw import rdMolDraw2D
        from rdkit.Geometry import Point2D

        molecule = self._ready(types)
        molecule.AddConformer(self._layout, assignId=True)
        drawer = rdMolDraw2D.MolDraw2DCairo(WIDTH, HEIGHT)
        options: Any = drawer.drawOptions()
        options.updateAtomPalette(_DARKER)
        options.prepareMolsBeforeDrawing = False
        options.padding = 0.08
        options.bondLineWidth = 2
        options.highlightRadius = 0.42
        options.fixedBondLength = 36.0  # at most: small molecules are not blown up
        drawer.DrawMolecule(
            molecule, highlightAtoms=list(colours), highlightAtomColors=colours, highlightBonds=[]
        )
        drawer.FinishDrawing()
        axes.imshow(imread(io.BytesIO(drawer.GetDrawingText())))
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_color("#dddddd")
        points = [drawer.GetDrawCoords(atom) for atom in range(molecule.GetNumAtoms())]
        start, end = (drawer.GetDrawCoords(Point2D(x, 0.0)) for x in (0.0, _BOND))
        return [(point.x, point.y) for point in points], abs(end.x - start.x)


def _colour(cluster: int) -> tuple[float, float, float]:
    """The same colour for the same cluster on the whole page; from the eighth on they are used
    again, lighter each time."""
    again, number = divmod(cluster, len(SAFE_COLOURS))
    red, green, blue = to_rgb(SAFE_COLOURS[number])
    keep = 0.6**again
    return 1 - keep * (1 - red), 1 - keep * (1 - green), 1 - keep * (1 - blue)
