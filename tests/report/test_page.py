from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from html_outline import NAME, Outline
from report_rows import row

from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report.page import write_report
from gmpool.report.summary import summarise, summary_grid, summary_title

COMMAND = "gmpool train MUTAG --label '<i>'"


def write(rows: list[Row], path: Path, command: str = COMMAND) -> None:
    found = summarise(rows)
    write_report([summary_grid(found)], path, title=summary_title(found), command=command)


def test_html_is_one_self_contained_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    write([row(fold=1), row(fold=2, test=90.0)], path)
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    page = Outline(path.read_text(encoding="utf-8"))
    (picture,) = page.links
    kind, data = picture.split(",", 1)
    assert kind == "data:image/png;base64"
    assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")
    assert "85.00 ± 7.07 ᶠ" in page.text
    assert "83.44 ± 1.33" in page.text, "the paper's value"
    assert COMMAND in page.text
    assert {"abc", "a CPU", "python 3.11, torch 2.9"} <= set(page.text)


def test_html_escapes_names(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write([row(dataset=NAME, device=NAME)], path, command=NAME)
    page = Outline(path.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert NAME in page.text


def test_markdown_names_the_picture_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write([row(), row(method="mean")], path)
    text = path.read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[.*\]\((.*)\)", text)
    assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert text.startswith("# gmt, mean on MUTAG\n")
    assert "| 83.44 ± 1.33 |" in text
    assert f"    {COMMAND}\n" in text


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.html or \.md, got .*report\.pdf"):
        write([row()], tmp_path / "report.pdf")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"could not be written to .*report\.md.*--report"):
        write([row()], tmp_path / "file" / "report.md")


def test_several_pictures_stand_beside_markdown(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write([row(), row(dataset="DD")], path)
    found = re.findall(r"!\[(.*)\]\((.*)\)", path.read_text(encoding="utf-8"))
    assert found == [
        ("Learning curves on MUTAG", "report.png"),
        ("Learning curves on DD", "report-2.png"),
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report-2.png", "report.md", "report.png"]


def test_where_it_cannot_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(UserError, match="could not be written"):
        write([row()], tmp_path / "report.md")
    assert [p.name for p in tmp_path.glob(".*")] == []
