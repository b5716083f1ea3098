from __future__ import annotations

import csv
import io

from comparison_cells import compared, empty, filled
from report_rows import row

from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Grid
from gmpool.report.render import render
from gmpool.report.summary import summarise, summary_grid

CELLS = empty()
GRID = comparison_grid(compared(CELLS, filled(CELLS[0], [80.0, 90.0], [83.0, 84.0])))


def read(*grids: Grid) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render("csv", grids))))


def test_a_line_per_record_with_plain_numbers() -> None:
    first, second, *_ = read(GRID)
    assert (first["line"], first["dataset"], first["incomplete"]) == ("gmt", "MUTAG", "False")
    assert float(first["mean"]) == 84.25
    assert (second["mean"], second["runs"], second["paper_mean"]) == ("", "0", "78.72")
    assert len(read(GRID)) == len(GRID.records) == 4


def test_any_name_reads_back() -> None:
    name = 'x,"y"\nz'
    (found,) = read(summary_grid(summarise([row(dataset=name)])))
    assert found["dataset"] == name


def test_grids_of_different_kinds_keep_all_columns() -> None:
    runs = summary_grid(summarise([row()]))
    found = read(GRID, runs)
    assert len(found) == 5
    assert (found[0]["mean"], found[0]["test_mean"]) == ("84.25", "")
    assert (found[-1]["mean"], found[-1]["test_mean"]) == ("", "80.0")


def test_a_cell_that_a_spreadsheet_would_run_is_made_harmless() -> None:
    (found,) = read(summary_grid(summarise([row(dataset="=HYPERLINK(1)", test=-3.5)])))
    assert (found["dataset"], found["test_mean"]) == ("'=HYPERLINK(1)", "-3.5")
