from __future__ import annotations

import csv
import io
import json

import pytest
from plan_rows import like_the_paper, plan, recorded

from gmpool.report.comparison import compare
from gmpool.report.comparison_data import as_csv, as_json

PLAN = plan()
GMT, _, MEAN, _ = PLAN.cells()
PARTLY = compare(PLAN, recorded(GMT, [80.0, 90.0], [83.0, 84.0]) + recorded(MEAN, [60.0], [62.0]))


def test_csv_has_a_line_per_cell_with_plain_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(PARTLY))))
    assert [(r["line"], r["dataset"]) for r in rows] == [
        ("gmt", "MUTAG"), ("gmt", "DD"), ("mean", "MUTAG"), ("mean", "DD"),
    ]  # fmt: skip
    gmt, empty, mean, _ = rows
    assert (float(gmt["mean"]), gmt["runs"], gmt["asked"]) == (84.25, "4", "4")
    assert (gmt["incomplete"], gmt["best_or_comparable"], gmt["tested"]) == (
        "False",
        "True",
        "True",
    )
    assert float(gmt["difference"]) == pytest.approx(84.25 - 83.44)
    assert 0 < float(mean["p"]) < 0.05
    assert (mean["runs"], mean["incomplete"]) == ("2", "True")
    assert (empty["mean"], empty["runs"], empty["paper_mean"]) == ("", "0", "78.72")


def test_json_reads_back() -> None:
    found = json.loads(as_json(compare(*like_the_paper())))
    assert len(found["cells"]) == 140
    assert found["lines"][-1]["paper_best_or_comparable"] == "10/10"
    assert found["critical_difference"] == pytest.approx(9.92, abs=0.01)
    assert found["ranked_on"] == ["MUTAG", "ogbg-molbbbp", "IMDB-BINARY", "IMDB-MULTI"]
    assert json.loads(as_json(PARTLY))["friedman_p"] is None
