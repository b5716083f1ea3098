from __future__ import annotations

from html_outline import NAME, Outline
from plan_rows import like_the_paper, plan, recorded

from gmpool.engine.cell import Line
from gmpool.report.comparison import compare
from gmpool.report.comparison_page import comparison_page


def test_one_self_contained_page_with_both_pictures() -> None:
    page = Outline(comparison_page(compare(*like_the_paper()), command="gmpool table x"))
    assert len(page.links) == 2
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert {"b", "u", "sup", "small"} <= set(page.tags)
    assert page.tags.count("tr") == 15
    assert {"gmpool table x", "a CPU", "abc", "sagpool-global"} <= set(page.text)


def test_names_are_escaped_and_a_missing_diagram_has_its_reason() -> None:
    table = plan((Line(NAME, "gmt", {}),), ("MUTAG",))
    made = comparison_page(compare(table, recorded(*table.cells(), [80.0])), command=NAME)
    page = Outline(made)
    assert "script" not in page.tags
    assert NAME in page.text
    assert len(page.links) == 1
    assert "here are 1 and 1." in made
