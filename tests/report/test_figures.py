from __future__ import annotations

import io

import pytest
from matplotlib import cbook, image
from matplotlib.axes import Axes
from pictures import pixels
from report_rows import row

from gmpool.report import figures
from gmpool.report.figures import learning_curves


def curve(*values: float | None) -> dict[str, list[float | None]]:
    return {name: list(values) for name, _ in figures.CURVES}


def test_a_picture_of_plausible_size_from_runs_of_different_lengths_with_gaps() -> None:
    gmt = [row(), row(curve=curve(0.9, None, 0.7, 0.6, 0.5))]
    png = learning_curves({"gmt": gmt, "mean": [row(curve=curve(None, None))]})
    pixels = image.imread(io.BytesIO(png))
    assert pixels.shape[:2] == (396, 1320)
    assert 10_000 < len(png) < 300_000
    assert 0.02 < (pixels[..., :3] < 0.9).mean() < 0.5, "there are lines on a white ground"


def test_the_bold_line_is_the_mean_while_half_of_the_runs_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = {}
    plot = Axes.plot

    def spy(self: Axes, x, y, *marker: str, label: str | None = None, **style: object):
        if label:
            drawn[self.get_title() or len(drawn)] = (list(x), list(y))
        return plot(self, x, y, *marker, label=label, **style)

    monkeypatch.setattr(Axes, "plot", spy)
    curves = [curve(1.0), curve(2.0, 4.0), curve(3.0, 6.0), curve(2.0, 2.0, 9.0)]
    learning_curves({"gmt": [row(curve=c) for c in curves]})
    assert list(drawn.values()) == [([1, 2], [2.0, 4.0])] * 3


def test_every_method_is_drawn_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = []
    true = figures._draw
    monkeypatch.setattr(figures, "_draw", lambda *a: (labels.append(a[4]), true(*a)))
    names = [f"method-{i}" for i in range(len(figures.COLOURS) + 2)]
    learning_curves({name: [row()] for name in names})
    assert labels == names * len(figures.CURVES)


def test_a_method_without_epochs_has_no_line() -> None:
    none = row(curve={"train_loss": [], "valid_loss": [], "valid_metric": []})
    assert learning_curves({"wl-svm": [none]}).startswith(b"\x89PNG")
    assert learning_curves({"gmt": [row()], "wl-svm": [none]}) == learning_curves({"gmt": [row()]})


@pytest.mark.parametrize(
    "name", [r"$\alpha{$", "a$b", r"\$x$", "_x", "a\x1b[2J\n", "分子", "x" * 9999]
)
def test_any_name_can_be_drawn(name: str) -> None:
    picture = pixels(learning_curves({name: [row()], "gmt": [row()]}))
    assert picture.shape == pixels(learning_curves({"gmt": [row()]})).shape
    text = figures.label_text(name)
    assert not cbook.is_math_text(text)
    assert not text.startswith("_")
    assert len(text) <= 62
    assert "\n" not in text


def test_a_picture_of_very_many_lines_can_be_made() -> None:
    assert figures.new_figure(10, 5000).dpi * 5000 <= 32_000
    assert figures.new_figure(10, 10).dpi == 110
