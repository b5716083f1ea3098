"""Some of the reactions of USPTO-50k."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from gmpool.tasks.retrosynthesis.library import TemplateLibrary
from gmpool.tasks.retrosynthesis.reactions import Reaction, read_chunk, read_rows


@cache
def uspto_sample(
    root: Path, templates: int = 300, products: int = 10
) -> tuple[TemplateLibrary, list[str]]:
    """(the templates that are seen most often, products of some of them)"""
    _, rows = read_rows(root / "uspto50k.csv.xz")
    often = {text for text, _ in Counter(row.template for row in rows).most_common(templates)}
    known = [row for row in rows if row.template in often]
    read = read_chunk(known[:: len(known) // products][:products])
    library = TemplateLibrary.of((row.group, row.template) for row in known)
    return library, [each.product for each in read if isinstance(each, Reaction)]
