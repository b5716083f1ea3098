"""What stands beside the scores of users' own data, and the same for a program."""

from __future__ import annotations

import numpy as np
from report_rows import row

from gmpool.report.own_grids import own_grids, own_json
from gmpool.report.recorded_outputs import packed_outputs

PART = {"graphs": 1, "labels": [[1, 0, 0]]}
DATA = {
    "understood": ["x.csv: 3 rows"], "task": "binary", "labels": ["toxic"], "of": 1, "classes": [],
    "parts": {"train": PART, "valid": PART, "test": PART},
}  # fmt: skip
MISTAKE = {"label": "toxic", "graph": 2, "truth": "yes", "said": "no", "probability": 0.75}
KEPT = packed_outputs(
    "binary", ["toxic"], (), np.array([[0.0]]), np.array([[1.0]]), line=np.array([[1.0, 0.0]])
)


def test_the_data_stand_above_and_the_rest_below() -> None:
    own = row(dataset="own", data=DATA, outputs=KEPT, mistakes=[MISTAKE])
    above, below = own_grids([("own", "gmt", [own]), ("MUTAG", "gmt", [row()])])
    assert [grid.title for grid in above] == ["Data: own"]
    assert [grid.title for grid in below] == ["How sure it is", "Worst mistakes: gmt on own"]


def test_for_a_program() -> None:
    own = row(dataset="own", data=DATA, outputs=KEPT, mistakes=[MISTAKE])
    made = own_json([row(dataset="own"), own])
    assert made["data"]["understood"] == ["x.csv: 3 rows"]
    assert made["sureness"] == {"toxic": {"raw_error": 50.0, "error": 50.0}}
    assert made["mistakes"] == [MISTAKE]


def test_named_sets_have_nothing_of_it() -> None:
    assert own_grids([("MUTAG", "gmt", [row()])]) == ([], [])
    assert own_json([row()]) == {}
