"""docs/evidence.md counts the cells of Table 1 as the table has them."""

from __future__ import annotations

import re
from collections import Counter

from doc_blocks import ROOT

PAGE = " ".join((ROOT / "docs" / "evidence.md").read_text(encoding="utf-8").split())
TABLE = (ROOT / "results" / "table1" / "table1.md").read_text(encoding="utf-8")
SETS = 10


def standing(cell: str) -> str | None:
    """Of a cell for which the paper has a number."""
    paper = re.search(r"paper ([\d.]+) ± ([\d.]+)", cell)
    if paper is None:
        return None
    ours = re.match(r"\W*([\d.]+) ± ([\d.]+)", cell)
    if ours is None:
        return "missing"
    if "ⁱ" in cell:
        return "fewer"
    gap = float(ours[1]) - float(paper[1])
    if abs(gap) <= max(float(ours[2]), float(paper[2])):
        return "within"
    return "above" if gap > 0 else "below"


def test_it_counts_what_the_table_shows() -> None:
    lines = [line.split("|") for line in TABLE.splitlines() if line.startswith("| ")][2:]
    cells = Counter(filter(None, (standing(c.strip()) for _, _, *row in lines for c in row[:SETS])))
    tens = cells["within"] + cells["above"] + cells["below"]
    assert f"Of the {cells.total()} published cells {tens} have ten seeds here" in PAGE
    assert f"{cells['within']} are within one deviation" in PAGE
    assert f"{cells['above']} above and {cells['below']} below" in PAGE
    assert f"{cells['fewer']} have fewer seeds, and {cells['missing']} are missing" in PAGE
