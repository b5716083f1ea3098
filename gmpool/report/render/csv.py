"""The numbers of grids as CSV."""

import csv
import io
from collections.abc import Sequence

from gmpool.report.grid import Grid
from gmpool.report.render import About, form
from gmpool.spreadsheet import safe_cell


@form("csv", suffix=".csv")
def as_csv(grids: Sequence[Grid], about: About) -> str:
    """One line per record; grids of different kinds leave each other's columns empty. Text that a
    spreadsheet would run is made harmless."""
    records = [record for grid in grids for record in grid.records]
    out = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(safe_cell, names))
    for record in records:
        cells = (record.get(name, "") for name in names)
        writer.writerow(safe_cell(c) if isinstance(c, str) else c for c in cells)
    return out.getvalue()
