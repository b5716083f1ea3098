from __future__ import annotations

import base64

import pytest

from gmpool.report.molecule_drawing import can_draw, molecule_svg
from gmpool.report.recorded_mistakes import LONGEST

pytest.importorskip("rdkit")


def test_a_molecule_is_drawn() -> None:
    assert can_draw()
    svg = base64.b64decode(molecule_svg("c1ccccc1O") or "").decode()
    assert svg.rstrip().endswith("</svg>")
    assert "width='260px' height='180px'" in svg


@pytest.mark.parametrize(
    "smiles", ["no molecule", "", "C(C)(C)(C)(C)C", "C" * 201, "C" * (LONGEST + 1), "<script>"]
)
def test_what_cannot_be_drawn_has_no_picture(smiles: str) -> None:
    assert molecule_svg(smiles) is None
