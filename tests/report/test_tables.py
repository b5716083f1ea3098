from __future__ import annotations

import csv
import io
import json

import pytest
from report_rows import row
from rich.console import Console

from gmpool.report.summary import Summary, summarise
from gmpool.report.tables import (
    ESSENTIAL,
    HEADINGS,
    as_csv,
    as_json,
    cells,
    duration,
    markdown,
    terminal,
)

SUMMARIES = summarise(
    [row(fold=1, test=80.0), row(fold=2, test=90.0), row(dataset="x[/b]|y", metric="rmse")]
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (12.34, "12.3 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (245.2, "4 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7620, "2 h 07 min"),
        (360000, "100 h 00 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_cells() -> None:
    assert dict(zip(HEADINGS, cells(SUMMARIES[0]), strict=True)) == {
        "dataset": "MUTAG",
        "method": "gmt",
        "metric": "accuracy %",
        "test": "85.00 ± 7.07 ᶠ",
        "valid": "75.00",
        "paper": "83.44 ± 1.33",
        "difference": "+1.56",
        "seeds × folds": "1 × 2",
        "epochs": "6",
        "time": "2 min 03 s",
        "parameters": "12,345",
    }


def test_cells_of_a_set_the_paper_does_not_have() -> None:
    found = dict(zip(HEADINGS, cells(SUMMARIES[1]), strict=True))
    assert (found["metric"], found["test"], found["paper"], found["difference"]) == (
        "rmse", "80.00", "–", "–",
    )  # fmt: skip


def test_only_a_deviation_over_folds_is_marked() -> None:
    (over_seeds,) = summarise([row(seed=1), row(seed=2, test=90.0)])
    assert cells(over_seeds)[3] == "85.00 ± 7.07"
    assert "ᶠ" not in markdown([over_seeds])
    assert "ᶠ: one seed only" in markdown(SUMMARIES)


def printed(summaries: list[Summary], width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal(summaries, width))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [200, 80, 45])
def test_no_number_is_cut_off_on_a_narrow_terminal(width: int) -> None:
    """All columns, then the essential ones, then upright blocks that have all again."""
    text = printed(SUMMARIES, width)
    shown = ESSENTIAL if width == 80 else HEADINGS
    for summary in SUMMARIES:
        for heading, cell in zip(HEADINGS, cells(summary), strict=True):
            if heading in shown:
                assert cell in text, cell
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert (len([line for line in text.splitlines() if "dataset" in line]) == 1) == (width > 45)


def test_markdown_has_a_row_for_each_summary() -> None:
    lines = markdown(SUMMARIES[:1]).splitlines()
    assert lines[0] == "| " + " | ".join(HEADINGS) + " |"
    assert lines[2] == "| " + " | ".join(cells(SUMMARIES[0])) + " |"
    assert lines[1].count("---") == len(HEADINGS)


def test_a_bar_in_a_name_does_not_break_the_markdown_table() -> None:
    (line,) = [line for line in markdown(SUMMARIES).splitlines() if "rmse" in line]
    assert line.replace(r"\|", "").count("|") == len(HEADINGS) + 1


def test_csv_reads_back_as_plain_numbers() -> None:
    first, second = csv.DictReader(io.StringIO(as_csv(SUMMARIES)))
    assert float(first["test_mean"]) == 85.0
    assert float(first["test_std"]) == pytest.approx(7.0710678)
    assert (first["paper_mean"], first["paper_std"], first["runs"]) == ("83.44", "1.33", "2")
    assert (second["dataset"], second["paper_mean"], second["test_std"]) == ("x[/b]|y", "", "")


def test_json_reads_back() -> None:
    first, second = json.loads(as_json(SUMMARIES))
    assert (first["test_mean"], first["std_over"], first["options"]) == (
        85.0, "folds", "hidden_dim=8 lr=0.1",
    )  # fmt: skip
    assert second["paper"] is None
