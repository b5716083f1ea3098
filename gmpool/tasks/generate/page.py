"""Drawn molecules to look at: a picture of what runs drew when, and a page for a user's own."""

import base64
import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.image import imread

from gmpool.errors import MissingPackage, UserError
from gmpool.plain_text import one_line
from gmpool.report.comparison import Cell
from gmpool.report.figures import label_text, png, spaced_figure
from gmpool.report.number_text import NONE
from gmpool.tasks.generate.recorded import Run, lines_by_set

SHARES = (0.1, 0.25, 0.5, 1.0)
"""Of a training: where its molecules are shown."""
EACH = 4
"""Molecules of one iteration."""
MOST = 200
"""Molecules on a page."""
WIDTH, HEIGHT = 210, 150  # pixels of a molecule
_DARKER = {9: (0.0, 0.5, 0.5), 16: (0.65, 0.5, 0.0)}  # fluorine and sulfur, hard to read on white
RULE = (
    f"Rule: of each line the run with the lowest seed; the first {EACH} valid draws, repeats "
    "included, at {when}. Below: the share of valid draws, and their number without repeats."
)


def sampled_page(cells: Sequence[Cell], iterations: Sequence[int] = ()) -> bytes:
    """A PNG with a row per line and a panel per iteration, drawn with RDKit.

    iterations: shown are the recorded ones nearest to them; without any, to SHARES of the training.
    """
    found = lines_by_set(cells)
    several = len(found) > 1
    first = {
        f"{dataset}: {line.label}" if several else line.label: line.runs[0]
        for dataset, lines in found.items()
        for line in lines
        if line.runs
    }
    if not first:
        raise UserError("there are no scored runs to draw; gmpool generate train records some")
    across = len(iterations or SHARES)
    figure = spaced_figure(0.6 + 3.1 * across, 2.45 * len(first) + 0.9, dpi=130)
    panels = figure.subplots(len(first), across, squeeze=False)
    for row, (label, run) in zip(panels, first.items(), strict=True):
        wanted = iterations or [share * run.iterations[-1] for share in SHARES]
        for axes, iteration in zip(row, wanted, strict=True):
            _panel(axes, run, int(np.abs(run.iterations - iteration).argmin()))
        named = textwrap.fill(label_text(label), 24)
        row[0].set_ylabel(f"{named}\nseed {run.seed}", fontsize=10)
    when = "the recorded iterations nearest to "
    when += (
        ", ".join(f"{n:,}" for n in iterations)
        if iterations
        else ", ".join(f"{share:.0%}" for share in SHARES) + " of the training"
    )
    rule = textwrap.fill(RULE.format(when=when), 36 * across)
    figure.supxlabel(rule, fontsize=9, color="#444444")
    return png(figure)


def _panel(axes: Axes, run: Run, place: int) -> None:
    """place: of the iteration among those recorded."""
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_color("#dddddd")
    axes.set_title(f"iteration {run.iterations[place]:,}", fontsize=9)
    smiles = _shown(run, place)
    if smiles:
        axes.imshow(imread(io.BytesIO(_together(smiles))))
        strict, distinct = (run.scores[name][place] for name in ("strict", "distinct"))
        axes.set_xlabel(f"{strict:.1f} % valid, {distinct:,.0f} distinct", fontsize=9)
    else:
        axes.set(xlim=(0, 2 * WIDTH), ylim=(0, 2 * HEIGHT), aspect="equal")
        axes.text(WIDTH, HEIGHT, "none valid", ha="center", va="center", color="#888888")


def _shown(run: Run, place: int) -> list[str]:
    listed = run.generated.get("smiles", [])
    return list(listed[place][:EACH]) if place < len(listed) else []


def _together(smiles: Sequence[str]) -> bytes:
    """A PNG of up to four molecules, two and two."""
    chem, drawing = _rdkit()
    drawer = drawing.MolDraw2DCairo(2 * WIDTH, 2 * HEIGHT, WIDTH, HEIGHT)
    _set_up(drawer)
    drawer.DrawMolecules([_molecule(text) or chem.Mol() for text in smiles])
    drawer.FinishDrawing()
    made: bytes = drawer.GetDrawingText()
    return made


def molecule_html(
    rows: Sequence[Mapping[str, object]], title: str, notes: Iterable[str] = ()
) -> str:
    """A page with a drawing of each molecule and its properties below; nothing of it is loaded from
    elsewhere.

    rows: "smiles", and the properties by name.
    """
    shown = [
        {
            "smiles": one_line(str(row.get("smiles") or NONE)),
            "picture": _svg(str(row.get("smiles") or "")),
            "properties": [(one_line(k), _text(v)) for k, v in row.items() if k != "smiles"],
        }
        for row in rows[:MOST]
    ]
    said = [one_line(note) for note in notes]
    if len(rows) > MOST:
        said.append(f"the first {MOST} of {len(rows):,} molecules are shown")
    return _TEMPLATES.from_string(_PAGE).render(title=one_line(title), notes=said, molecules=shown)


def _svg(smiles: str) -> str | None:
    """A drawing, in base64: in an <img>, so that whatever a label says is no part of the page. None
    where RDKit cannot read the molecule."""
    _, drawing = _rdkit()
    molecule = _molecule(smiles) if smiles else None
    if molecule is None:
        return None
    drawer = drawing.MolDraw2DSVG(WIDTH, HEIGHT)
    _set_up(drawer)
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    return base64.b64encode(drawer.GetDrawingText().encode()).decode()


def _text(value: object) -> str:
    if value is None or value != value:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def _rdkit() -> tuple[Any, Any]:
    """What reads molecules, and what draws them."""
    try:
        from rdkit import Chem
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError as error:
        raise MissingPackage("rdkit", "chem", "drawing molecules") from error
    return Chem, rdMolDraw2D


def _molecule(smiles: str) -> Any:
    """None where RDKit cannot read it."""
    from rdkit import rdBase

    chem, _ = _rdkit()
    with rdBase.BlockLogs():
        return chem.MolFromSmiles(smiles)


def _set_up(drawer: Any) -> None:
    options = drawer.drawOptions()
    options.updateAtomPalette(_DARKER)
    options.padding = 0.1
    options.bondLineWidth = 2
    options.fixedBondLength = 30.0  # at most: small molecules are not blown up


_TEMPLATES = Environment(
    autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{ title }}</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;color:#222;margin:2rem auto;padding:0 1rem;max-width:80rem}
h1{font-size:1.5rem} .note{color:#555;font-size:.9rem}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:1rem}
figure{margin:0;padding:.6rem;border:1px solid #ddd;border-radius:.4rem}
img,.none{display:block;width:100%;aspect-ratio:7/5;object-fit:contain}
.none{display:grid;place-items:center;color:#666}
code{font-size:.85rem;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:auto 1fr;gap:0 .8rem;margin:.4rem 0 0;font-size:.85rem}
dt{color:#555} dd{margin:0;text-align:right;overflow-wrap:anywhere}
</style>
<h1>{{ title }}</h1>
<ul class="note">
{% for note in notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
<main>
{% for molecule in molecules %}
<figure>
{% if molecule.picture %}
<img alt="" src="data:image/svg+xml;base64,{{ molecule.picture }}">
{% else %}
<div class="none">cannot be drawn</div>
{% endif %}
<figcaption><code>{{ molecule.smiles }}</code>
<dl>
{% for name, value in molecule.properties %}
<dt>{{ name }}</dt><dd>{{ value }}</dd>
{% endfor %}
</dl></figcaption>
</figure>
{% endfor %}
</main>
</html>
"""
