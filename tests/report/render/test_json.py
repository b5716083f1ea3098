from __future__ import annotations

import json
from typing import Any

from comparison_cells import like_the_paper
from report_rows import row

from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Grid
from gmpool.report.render import render
from gmpool.report.summary import summarise, summary_grid


def read(*grids: Grid) -> Any:
    return json.loads(render("json", grids))


def test_one_grid_is_what_it_says_as_a_whole() -> None:
    found = read(comparison_grid(like_the_paper()))
    assert len(found["cells"]) == 140
    assert found["ranked_on"] == ["MUTAG", "ogbg-molbbbp", "IMDB-BINARY", "IMDB-MULTI"]
    (run,) = read(summary_grid(summarise([row(), row(fold=2)])))
    assert run["test_mean"] == 80.0
    assert read(Grid("", [], records=[{"a": 1}])) == [{"a": 1}], "the records where it says nothing"


def test_several_are_one_list() -> None:
    grids = [Grid("", [], whole=[{"a": 1}, {"a": 2}]), Grid("", [], whole=[])]
    assert read(*grids, Grid("", [], whole={"b": 3})) == [{"a": 1}, {"a": 2}, {"b": 3}]
