"""The numbers of grids as JSON."""

import json
from collections.abc import Sequence

from gmpool.report.grid import Grid
from gmpool.report.render import About, form


@form("json", suffix=".json")
def as_json(grids: Sequence[Grid], about: About) -> str:
    """What a single grid says as a whole; of several, one list."""
    wholes = [list(grid.records) if grid.whole is None else grid.whole for grid in grids]
    if len(wholes) == 1:
        return json.dumps(wholes[0], indent=1) + "\n"
    listed = [one for whole in wholes for one in (whole if isinstance(whole, list) else [whole])]
    return json.dumps(listed, indent=1) + "\n"
