"""What a report of users' own data shows beside scores: the data, how sure predictions are, and the
worst mistakes. Of named sets, and of rows from before that, there is none."""

from collections.abc import Sequence
from typing import Any

from gmpool.record import Row
from gmpool.report.data_grid import data_grids, data_json
from gmpool.report.grid import Grid
from gmpool.report.mistake_grid import EACH, mistake_grids, worst
from gmpool.report.recorded_data import recorded_data
from gmpool.report.sureness_grid import sureness, sureness_grids

Line = tuple[str, str, Sequence[Row]]
"""Set, what the line is called, and its rows."""


def own_grids(lines: Sequence[Line]) -> tuple[list[Grid], list[Grid]]:
    """(what stands above the scores by label, what stands below)"""
    data = data_grids((dataset, rows) for dataset, _, rows in lines)
    return data, [*sureness_grids(lines), *mistake_grids(lines)]


def own_json(rows: Sequence[Row]) -> dict[str, Any]:
    """The same of one line for a program to read; nothing where rows say nothing."""
    data = next((found for row in rows if (found := recorded_data(row)) is not None), None)
    sure, mistakes = sureness(rows), worst(rows)
    return {
        **({"data": data_json(data)} if data is not None else {}),
        **({"sureness": sure} if sure else {}),
        **(
            {"mistakes": [m.to_json() for of in mistakes.values() for m, _ in of[:EACH]]}
            if mistakes
            else {}
        ),
    }
