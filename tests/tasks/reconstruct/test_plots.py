from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from pictures import clear_edge, pixels
from reconstruction_rows import synthetic_rows, zinc_rows

from gmpool.data import generate
from gmpool.errors import DataError, UserError
from gmpool.tasks.reconstruct.plots import Cloud, Rebuilt, point_clouds, ratio_curves
from gmpool.tasks.reconstruct.scores import tallies


def cloud(name: str, **shifts: float) -> Cloud:
    graphs = generate(name).graphs
    assert graphs.node_float is not None
    return Cloud(
        graphs,
        {label: Rebuilt(graphs.node_float + by, by**2) for label, by in shifts.items()},
    )


@pytest.fixture
def below(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written below panels, in order."""
    said: list[str] = []
    true = Axes.set_xlabel

    def spy(self: Axes, text: str, **style: object) -> object:
        said.append(text)
        return true(self, text, **style)

    monkeypatch.setattr(Axes, "set_xlabel", spy)
    return said


def test_clouds_say_their_errors_and_what_they_do_not_show(below: list[str]) -> None:
    picture = pixels(point_clouds([cloud("ring", GMT=0.001, MinCutPool=5.0), cloud("grid", GMT=0)]))
    assert below == ["error 1.0e-06", "error 25.0000\n200 outside", "error 0.0000", "not run"]
    assert clear_edge(picture)


def test_a_wrong_node_is_seen() -> None:
    right = cloud("ring", GMT=0.0)
    places = right.rebuilt["GMT"].positions.clone()
    places[7] = 0.0
    wrong = Cloud(right.graphs, {"GMT": Rebuilt(places, 0.0)})
    assert (pixels(point_clouds([right])) != pixels(point_clouds([wrong]))).any()


def test_clouds_need_positions() -> None:
    graphs = generate("ring").graphs.with_degree_features()
    three = Cloud(graphs.select([0, 0]), {"GMT": Rebuilt(torch.zeros(400, 2), 0.0)})
    with pytest.raises(DataError, match=r"two numbers per node, got 2 graph\(s\) with 2"):
        point_clouds([three])
    with pytest.raises(UserError, match="no reconstruction to draw"):
        point_clouds([Cloud(graphs, {})])


def test_curves_have_a_panel_per_share(below: list[str]) -> None:
    picture = pixels(ratio_curves(tallies(zinc_rows()), title="ZINC"))
    assert below == ["nodes kept (%)"] * 4
    assert clear_edge(picture)
    assert picture.shape[1] == 4 * 560


def test_curves_have_bands_of_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    bands: list[float] = []
    true = Axes.fill_between

    def spy(self: Axes, x: object, low: np.ndarray, high: np.ndarray, **style: object) -> object:
        bands.append(float((high - low).max()))
        assert (high <= 100).all()
        return true(self, x, low, high, **style)

    monkeypatch.setattr(Axes, "fill_between", spy)
    ratio_curves(tallies(zinc_rows(seeds=1)))
    assert set(bands) == {0.0}
    ratio_curves(tallies(zinc_rows(seeds=3)))
    assert max(bands) > 0


def test_curves_of_what_has_none() -> None:
    with pytest.raises(UserError, match="no score in percent to draw"):
        ratio_curves(tallies(synthetic_rows()))
    mine = [replace(row, dataset="mine", key=f"mine {row.key}") for row in zinc_rows()]
    with pytest.raises(UserError, match=r"one set and objective, got ZINC \(objective x\), mine"):
        ratio_curves(tallies([*zinc_rows(), *mine]))
