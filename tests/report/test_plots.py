from __future__ import annotations

import pytest
from comparison_cells import compared, empty, filled, like_the_paper
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pictures import clear_edge, pixels

from gmpool.report.plots import critical_differences, intervals, no_diagram

WHOLE = like_the_paper()
CELLS = empty()
ONE_SEED = compared(CELLS, *(filled(cell, [80.0, 90.0]) for cell in CELLS[::2]))


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written on axes, in order."""
    said: list[str] = []
    for name, at in (("text", 2), ("set_xlabel", 0), ("set_title", 0)):
        true = getattr(Axes, name)

        def spy(self: Axes, *words, _true=true, _at=at, **style):
            said.append(words[_at])
            return _true(self, *words, **style)

        monkeypatch.setattr(Axes, name, spy)
    return said


def test_intervals_have_a_panel_per_set(texts: list[str]) -> None:
    picture = pixels(intervals(WHOLE))
    assert picture.shape[1] > 1400
    assert clear_edge(picture)
    assert texts[::2] == ["accuracy %, 95 % interval over seeds" if m == "accuracy" else
                          "roc_auc %, 95 % interval over seeds"
                          for m in WHOLE.metrics.values()]  # fmt: skip
    assert texts[1::2] == list(WHOLE.datasets)


def test_with_one_seed_the_axis_says_that_the_interval_is_over_folds(texts: list[str]) -> None:
    assert clear_edge(pixels(intervals(ONE_SEED)))
    assert texts == ["accuracy %, 95 % interval over folds", "MUTAG"]


def test_one_run_has_no_interval(texts: list[str]) -> None:
    found = compared(CELLS, filled(CELLS[0], [80.0]))
    assert clear_edge(pixels(intervals(found)))
    assert texts[0] == "accuracy %"


def test_an_interval_over_two_seeds_takes_no_room_from_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many, few = empty(("gmt", "mean"), ("MUTAG",))
    known = [
        filled(many, [80.0] * 2, [81.0] * 2, [82.0] * 2),
        filled(few, [79.0] * 2, [83.0] * 2),  # 81 ± 25
    ]
    figures = []
    true = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *to, **how: (figures.append(self), true(self, *to, **how))
    )
    assert clear_edge(pixels(intervals(compared(known, paper=None))))
    low, high = figures[0].axes[0].get_xlim()
    assert 77 < low < 79, "81 ± 2.5 is shown whole"
    assert 83 < high < 85


def test_critical_differences_name_every_line_and_rank(texts: list[str]) -> None:
    made = critical_differences(WHOLE)
    assert made is not None
    assert clear_edge(pixels(made))
    for name, rank in WHOLE.ranks.items():
        assert any(name in text and f"{rank:.2f}" in text for text in texts)
    assert "critical difference 9.92" in texts
    assert any("over 4 sets" in text for text in texts)


def test_too_few_sets_or_lines_have_no_diagram() -> None:
    assert critical_differences(ONE_SEED) is None
    assert no_diagram(WHOLE) == ""
    assert "2 sets" in no_diagram(ONE_SEED)
    assert "here are 1 and 2" in no_diagram(ONE_SEED)


def test_names_of_a_plan_are_no_formulas() -> None:
    cells = empty((r"$\alpha{$", "_b", "x" * 500), (r"own $x^{", "DD"))
    known = [filled(cell, [80.0 - i], [82.0], [83.0]) for i, cell in enumerate(cells)]
    found = compared(cells, *known)
    assert clear_edge(pixels(intervals(found)))
    diagram = critical_differences(found)
    assert diagram is not None
    assert pixels(diagram).size


def test_an_interval_ends_where_scores_do(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = empty(("gmt",), ("MUTAG",))
    drawn: list[tuple[float, float]] = []
    true = Axes.plot

    def spy(self: Axes, x, *rest, **style):
        if style.get("label", "").startswith("95 %"):
            drawn.append(x)
        return true(self, x, *rest, **style)

    monkeypatch.setattr(Axes, "plot", spy)
    intervals(compared(cells, filled(cells[0], [20.0], [99.0], [95.0])))
    intervals(compared(cells, filled(cells[0], [20.0], [99.0], [95.0], metric="rmse")))
    (low, high), (below, above) = drawn
    assert (low, high) == (0.0, 100.0)
    assert below == 0
    assert above > 100, "an error has no such end"
