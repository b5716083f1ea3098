from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pictures import clear_edge, pixels
from ranking_rows import GIVEN, UNKNOWN, cell, invented_cells, ranking_row

from gmpool.report.comparison import Cell
from gmpool.report.grid import Picture
from gmpool.tasks.retrosynthesis.plots import pictures


def drawn(cells: list[Cell]) -> bytes:
    (picture,) = pictures(cells)
    assert isinstance(picture, Picture)
    made = picture.draw()
    assert made is not None
    return made


def _spy(name: str, true: Any, found: dict[str, list[tuple[Any, ...]]]) -> Any:
    def spy(self: Axes, *given: Any, **style: Any) -> Any:
        kind = "open" if style.get("markerfacecolor") == "none" else name
        found.setdefault(kind, []).append(tuple(map(list, given)))
        return true(self, *given, **style)

    return spy


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[tuple[Any, ...]]]:
    """What was given to the axes from now on: bands, points with bars, curves and open markers."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for name in ("fill_between", "errorbar", "plot"):
        monkeypatch.setattr(Axes, name, _spy(name, getattr(Axes, name), found))
    return found


def top_1_cell(method: str, firsts: dict[int, int], **values: Any) -> Cell:
    """firsts: top-1 in percent by seed; all else is found at place 60."""
    rows = [
        ranking_row(method, [1] * n + [60] * (100 - n), seed=seed, **values)
        for seed, n in firsts.items()
    ]
    return cell(method, rows)


def test_the_picture_is_whole_and_differs_with_the_data() -> None:
    cells = invented_cells(3, 200)
    before = pixels(drawn(cells))
    assert clear_edge(before)
    assert drawn(cells) == drawn(cells)
    after = pixels(drawn(invented_cells(3, 300)))
    assert before.shape == after.shape
    assert (before != after).any()
    (picture,) = pictures(cells)
    assert picture.file == "top-k.png"
    assert "Open: the paper's" in picture.note


def test_curves_bands_and_the_paper(calls: dict[str, list[tuple[Any, ...]]]) -> None:
    drawn([top_1_cell("mean", {1: 40, 2: 44, 3: 48})])
    (band,) = calls["fill_between"]
    error = 4 / 3**0.5
    assert band[0] == [1, 3, 5, 10, 20, 50]
    assert band[1] == pytest.approx([44 - error] * 6)
    assert band[2] == pytest.approx([44 + error] * 6)
    assert calls["plot"] == [([1, 3, 5, 10, 20, 50], pytest.approx([44] * 6))]
    assert calls["open"] == [([1, 3, 5, 10, 20, 50], [51.41, 67.55, 74.92, 83.48, 88.64, 92.37])]
    assert "errorbar" not in calls, "nothing to be measured from the mean"


def test_differences_from_the_mean_of_common_seeds(
    calls: dict[str, list[tuple[Any, ...]]],
) -> None:
    cells = [
        top_1_cell("mean", {1: 40, 2: 44, 3: 48}), top_1_cell("gmpool", {2: 46, 3: 54, 4: 99}),
        top_1_cell("frequency", {1: 10}), top_1_cell("max", {8: 50}),
    ]  # fmt: skip
    drawn(cells)
    (bars,) = calls["errorbar"]
    assert bars[0] == [1, 3, 5, 10, 20, 50], "alone it stands at k itself"
    assert bars[1] == pytest.approx([4] * 6)
    assert bars[2] == pytest.approx([2] * 6), "of 2 and 6"
    paper = next(values for _, values in calls["open"] if values and values[0] < 10)
    assert paper == pytest.approx([0.42, 0.65, 0.25, -0.28, 0.69, 0.10])
    assert len(calls["fill_between"]) == 4, "each has its curve"


def test_lines_stand_beside_each_other(calls: dict[str, list[tuple[Any, ...]]]) -> None:
    drawn(invented_cells(2, 50, datasets=[UNKNOWN]))
    at = [given[0] for given in calls["errorbar"]]
    assert len(at) == 4
    for n in range(6):
        places = [ks[n] for ks in at]
        assert places == sorted(set(places))
    assert max(ks[1] for ks in at) < min(ks[2] for ks in at), "those of 3 and of 5 stay apart"


def test_a_set_without_a_mean_beside_one_with(calls: dict[str, list[tuple[Any, ...]]]) -> None:
    cells = [
        top_1_cell("mean", {1: 40}), top_1_cell("gmpool", {1: 44}),
        top_1_cell("gmpool", {1: 60}, dataset=GIVEN),
    ]  # fmt: skip
    assert clear_edge(pixels(drawn(cells)))
    assert len(calls["errorbar"]) == 1


def test_nothing_recorded_and_lines_that_wait() -> None:
    assert pictures([]) == []
    waiting = Cell("mean", "mean", UNKNOWN, 3, [])
    assert pictures([waiting]) == []
    assert clear_edge(pixels(drawn([waiting, top_1_cell("gmt", {1: 4}, dataset="mine")])))


def test_runs_without_a_number() -> None:
    none = {"published": [None] * 6, "merged": [None] * 6}
    row = ranking_row("mean", [1], more={"top": none})
    assert clear_edge(pixels(drawn([cell("mean", [row]), top_1_cell("gmpool", {42: 7})])))


def test_the_title_says_how_many_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    true = Figure.suptitle
    monkeypatch.setattr(
        Figure,
        "suptitle",
        lambda self, text, **style: said.append(text) or true(self, text, **style),
    )
    three, floor = top_1_cell("mean", {1: 1, 2: 2, 3: 3}), top_1_cell("frequency", {1: 1})
    drawn([three, floor])
    drawn([three, top_1_cell("max", {1: 1})])
    drawn([top_1_cell("max", {1: 1}), floor])
    drawn([floor])
    begin = "Ranked reactants: mean and its standard error over"
    one = "Ranked reactants: one seed"
    assert said == [f"{begin} 3 seeds", f"{begin} 1 to 3 seeds", one, one]


def test_hostile_labels_and_names_are_drawn() -> None:
    cells = invented_cells(1, 20, methods=("mean", "gmpool"), datasets=[UNKNOWN])
    for label in ("$\\frac", "_hidden", "a\nb\x1b", "x" * 500):
        made = [replace(cells[0], label=label), replace(cells[1], dataset=label)]
        assert pixels(drawn(made)).shape[1] < 2000
