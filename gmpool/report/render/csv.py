"""The numbers of grids as CSV."""

import csv
import io
from collections.abc import Sequence

from gmpool.report.grid import Grid
from gmpool.report.render import About, form


@form("csv", suffix=".csv")
def as_csv(grids: Sequence[Grid], about: About) -> str:
    """One line per record; grids of different kinds leave each other's columns empty."""
    records = [record for grid in grids for record in grid.records]
    out = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()
