from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from generation_rows import bare_row, cell, generation_row, invented_cells
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pictures import clear_edge, pixels

from gmpool.report.comparison import Cell
from gmpool.report.grid import Picture
from gmpool.tasks.generate.plots import pictures


def drawn(picture: Picture) -> bytes:
    made = picture.draw()
    assert made is not None
    return made


def bands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[float], list[float], list[float]]]:
    """Iterations, low and high of each band that is drawn from now on."""
    found = []
    true = Axes.fill_between

    def spy(self: Axes, x: Any, low: Any, high: Any, **style: Any) -> Any:
        found.append((x.tolist(), low.tolist(), high.tolist()))
        return true(self, x, low, high, **style)

    monkeypatch.setattr(Axes, "fill_between", spy)
    return found


def test_pictures_are_whole_and_differ_with_the_data() -> None:
    cells = invented_cells(3, 4)
    found = pictures(cells)
    assert [p.name for p in found] == ["validity", "valid-unique-novel", "properties"]
    others = pictures([cells[0], *cells[:1], *cells[2:]])
    for one, other in zip(found, others, strict=True):
        before, after = pixels(drawn(one)), pixels(drawn(other))
        assert clear_edge(before)
        assert before.shape[1] == after.shape[1]
        assert before.shape != after.shape or (before != after).any()
        assert drawn(one) == drawn(one)


def test_mean_and_its_standard_error_over_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        generation_row("mean", {"loose": [a, 99.0], "strict": [0.0, b]}, seed=seed)
        for seed, (a, b) in enumerate([(10.0, 1.0), (20.0, 2.0), (30.0, 3.0)])
    ]
    found = bands(monkeypatch)
    drawn(pictures([cell("mean", rows)])[0])
    loose, strict = found
    error = 1 / 3**0.5  # the deviations are 10 and 1
    assert loose[1:] == (
        pytest.approx([20 - 10 * error, 99.0]),
        pytest.approx([20 + 10 * error, 99.0]),
    )
    assert strict[1:] == (pytest.approx([0.0, 2 - error]), pytest.approx([0.0, 2 + error]))
    assert loose[0] == strict[0] == [500, 1000]


def test_means_of_few_runs_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    curves: list[list[float | None]] = [[40.0, 50.0, 7.0], [None, 60.0], [None, None]]
    rows = [generation_row("mean", {"unique": u}, seed=seed) for seed, u in enumerate(curves)]
    found = bands(monkeypatch)
    drawn(pictures([cell("mean", rows), cell("none", rows[2:])])[1])
    assert [at for at, *_ in found] == [[500, 1000], [500, 1000], [1000]], "vun twice, unique once"
    assert found[2][1:] == ([pytest.approx(50)], [pytest.approx(60)])


def test_one_seed_and_one_iteration() -> None:
    for picture in pictures(invented_cells(1, 1, lines=1)):
        assert clear_edge(pixels(drawn(picture)))


@pytest.fixture
def stairs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[float], bool]]:
    """Shares and whether they are filled."""
    found = []
    true = Axes.stairs

    def spy(self: Axes, values: Any, edges: Any, **style: Any) -> Any:
        found.append((np.round(values, 6).tolist(), style.get("fill", False)))
        return true(self, values, edges, **style)

    monkeypatch.setattr(Axes, "stairs", spy)
    return found


def histogram_cell(*runs: tuple[float, float, list[int]], **values: Any) -> Cell:
    """QED alone, of each run (low, high, counts)."""
    rows = []
    for seed, (low, high, counts) in enumerate(runs):
        histograms = {"qed": {"low": low, "high": high, "counts": counts}}
        more = {"histograms": histograms, "rings": [seed, 1, 0, 0, 0, 0, 0]}
        rows.append(generation_row("mean", {"strict": [1.0]}, seed=seed, more=more, **values))
    return cell("mean", rows)


def test_properties_are_shares_of_all_seeds(stairs: list[tuple[list[float], bool]]) -> None:
    training = {"histograms": {"qed": {"low": 0, "high": 1, "counts": [3, 1]}}, "rings": [9, 1]}
    one = histogram_cell((0, 1, [1, 2]), (0, 1, [5, 2]), training=training)
    drawn(pictures([one])[-1])
    assert stairs == [
        ([75.0, 25.0], True),
        ([60.0, 40.0], False),
        ([90.0, 10.0, 0, 0, 0, 0, 0], True),
        ([pytest.approx(100 / 3), pytest.approx(200 / 3), 0, 0, 0, 0, 0], False),
    ]


def test_bins_that_differ_are_shared_out(stairs: list[tuple[list[float], bool]]) -> None:
    drawn(pictures([histogram_cell((0, 1, [4, 0]), (0, 2, [2, 2]))])[-1])
    assert stairs[0] == ([75.0, 25.0], False)


def test_rows_without_histograms_and_without_scores() -> None:
    plain = cell("mean", [generation_row("mean", {"strict": [1.0]})])
    assert [p.name for p in pictures([plain])] == ["validity", "valid-unique-novel"]
    assert pictures([cell("mean", [bare_row("mean", drawn={})])]) == []
    assert pictures([]) == []
    both = pictures([plain, replace(plain, dataset="mine")])
    assert [p.file for p in both][::2] == ["validity-QM9.png", "validity-mine.png"]


def test_the_title_says_how_many_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    true = Figure.suptitle
    monkeypatch.setattr(
        Figure,
        "suptitle",
        lambda self, text, **style: said.append(text) or true(self, text, **style),
    )
    one, two = invented_cells(2, 2, lines=2)
    drawn(pictures([one, two])[0])
    drawn(pictures([replace(one, rows=one.rows[:1]), two])[0])
    drawn(pictures([replace(one, rows=one.rows[:1])])[0])
    begin = "QM9: mean and its standard error over"
    assert said == [f"{begin} 2 seeds", f"{begin} 1 to 2 seeds", f"{begin} 1 seed"]


def test_hostile_labels_are_drawn() -> None:
    (one,) = invented_cells(1, 1, lines=1)
    for label in ("$\\frac", "_hidden", "a\nb\x1b", "x" * 500):
        assert pixels(drawn(pictures([replace(one, label=label)])[0])).shape[1] < 2000
