"""Pictures of predictions: which there are, and what numbers are in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pictures import clear_edge, pixels
from report_rows import row

from gmpool.errors import UserError
from gmpool.record import Row
from gmpool.report import answer_figures, prediction_figures
from gmpool.report.figures import png
from gmpool.report.grid import Picture
from gmpool.report.prediction_figures import prediction_pictures
from gmpool.report.recorded_outputs import packed_outputs

NAN = np.nan


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """What was drawn, before it became pixels."""
    made: list[Figure] = []
    for module in (prediction_figures, answer_figures):
        monkeypatch.setattr(module, "png", lambda f: (made.append(f), png(f))[1])
    return made


def run(task: str, made: Any, truth: Any, labels: Any = ("p",), classes: Any = ()) -> Row:
    found = packed_outputs(task, labels, classes, np.array(made, float), np.array(truth, float))
    return row(outputs=found, dataset="own")


def pictures(*rows: Row) -> list[Picture]:
    return prediction_pictures([("own", "gmt", rows)])


def shown(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_rows_that_keep_no_outputs_have_no_picture() -> None:
    assert pictures(row(), row(seed=43)) == []


def test_parity_of_all_runs_together(figures: list[Figure]) -> None:
    first = run("regression", [[1, 5], [2, 5]], [[1, NAN], [4, NAN]], ["logP", "_$x$"])
    second = run("regression", [[3, 5]], [[3, NAN]], ["logP", "_$x$"])
    (picture,) = pictures(first, second, row())
    assert picture.title == "Predictions and labels: gmt on own"
    assert picture.file == "parity-1-own-gmt.png"
    assert "test graphs of 2 runs" in picture.note
    assert "1 of 3 runs keep no outputs" in picture.note
    assert clear_edge(pixels(picture.draw() or b""))
    logp, gaps = figures[0].axes
    assert logp.collections[0].get_offsets().tolist() == [[1, 1], [4, 2], [3, 3]]
    # Squares of errors 4 of 3, and 14/3 around the mean.
    assert logp.get_title() == "RMSE 1.15,  R² 0.14  (3 points)"
    assert (logp.get_xlabel(), logp.get_ylabel()) == ("logP, in the data", "logP, predicted")
    assert logp.get_xlim() == logp.get_ylim()
    assert gaps.get_title() == "no label in the test part"


def test_labels_that_are_all_equal_have_no_r2(figures: list[Figure]) -> None:
    (picture,) = pictures(run("regression", [[1], [1]], [[1], [1]]))
    picture.draw()
    assert figures[0].axes[0].get_title() == "RMSE 0.00  (2 points)"


def test_a_panel_for_each_of_the_first_columns(figures: list[Figure]) -> None:
    names = [f"label {i}" for i in range(6)]
    (picture,) = pictures(run("regression", np.ones((3, 6)), np.arange(18).reshape(3, 6), names))
    picture.draw()
    assert [a.get_xlabel() for a in figures[0].axes] == [f"{n}, in the data" for n in names[:4]]
    assert "The first 4 of 6 label columns." in picture.note


def test_roc_curves_of_the_columns_of_one_run(figures: list[Figure]) -> None:
    names = [f"q{i}" for i in range(8)]
    made = np.repeat([[0.1], [0.4], [0.35], [0.8]], 8, axis=1)
    truth = np.repeat([[0], [0], [1], [1]], 8, axis=1).astype(float)
    truth[:, 1] = 1  # one class only: no curve
    truth[0, 2] = NAN
    roc, precision = pictures(run("binary", made, truth, names))
    for picture in (roc, precision):
        assert "The first 6 of 8 label columns." in picture.note
        assert clear_edge(pixels(picture.draw() or b""))
    (axes,) = figures[0].axes
    (legend,) = figures[0].legends
    said = [text.get_text() for text in legend.get_texts()]
    assert said[:2] == ["q0: AUC 75.00 %", "q2: AUC 50.00 %"]
    assert len(said) == 5
    first = axes.lines[1]
    assert list(first.get_xdata()) == [0, 0, 0.5, 0.5, 1]
    assert list(first.get_ydata()) == [0, 0.5, 0.5, 1, 1]
    assert len({line.get_color() for line in axes.lines}) == 6
    (axes,) = figures[1].axes
    (legend,) = figures[1].legends
    said = [text.get_text() for text in legend.get_texts()]
    # Yes at the first and at the third threshold: 1/1 and 2/3.
    assert said[0] == "q0: average precision 83.33 %"


def test_a_thin_curve_for_each_run_and_the_mean_of_their_areas(figures: list[Figure]) -> None:
    good = run("binary", [[1, 0], [0, 1]], [[1, 1], [0, 0]], ["p", "q"])
    bad = run("binary", [[0, 0], [1, 1]], [[1, 1], [0, 0]], ["p", "q"])
    one_class = run("binary", [[0, 0], [1, 1]], [[1, 1], [1, 1]], ["p", "q"])
    roc, precision = pictures(good, bad, one_class)
    roc.draw()
    precision.draw()
    p, q = figures[0].axes
    assert [len(p.lines), len(q.lines)] == [3, 3]
    assert p.get_title() == "p\nmean AUC of 2 runs 50.00 %"
    assert q.get_title() == "q\nmean AUC of 2 runs 0.00 %"
    p, q = figures[1].axes
    assert p.get_title() == "p\nmean average precision of 2 runs 75.00 %"
    assert q.get_title() == "q\nmean average precision of 2 runs 50.00 %"
    assert pictures(one_class) == []


def test_confusion_of_all_runs_and_the_curve_of_two_classes(figures: list[Figure]) -> None:
    first = run("multiclass", [[0, 1], [0, 2], [3, 0]], [1, 0, 0], ["kind"], ["no", "yes"])
    second = run("multiclass", [[1, 0]], [0], ["kind"], ["no", "yes"])
    confusion, roc, precision = pictures(first, second)
    assert [each.file.split("-1-")[0] for each in (confusion, roc, precision)] == [
        "confusion", "roc", "precision-recall"
    ]  # fmt: skip
    assert {each.file.split("-1-")[1] for each in (confusion, roc, precision)} == {"own-gmt.png"}
    assert clear_edge(pixels(confusion.draw() or b""))
    roc.draw()
    axes = figures[0].axes[0]
    assert shown(axes) == ["2\n67 %", "1\n33 %", "0\n0 %", "1\n100 %"]
    assert axes.get_title() == "accuracy 75.00 %  (4 predictions)"
    assert axes.get_ylabel() == "kind, in the data"
    assert figures[1].axes[0].get_title() == "kind = yes\nAUC 50.00 %"


def test_twenty_classes_of_which_some_are_not_there() -> None:
    names = [f"a class with a long name, number {i}" for i in range(20)]
    (picture,) = pictures(run("multiclass", np.eye(20)[:5], range(5), ["kind"], names))
    assert clear_edge(pixels(picture.draw() or b""))


@pytest.mark.parametrize("name", [r"$\alpha{$", "_x", "a\x1b[2J\n", "分子" * 999])
def test_any_name_can_be_drawn(name: str) -> None:
    rows = [
        run("regression", [[1], [2]], [[1], [4]], [name]),
        run("binary", [[1], [2]], [[1], [0]], [name]),
        run("multiclass", [[1, 0], [2, 0]], [1, 0], [name], [name, "b"]),
    ]
    for one in rows:
        for picture in prediction_pictures([(name, name, [one])]):
            picture_pixels = pixels(picture.draw() or b"")
            assert max(picture_pixels.shape) < 900
            assert len(picture.file.encode()) <= 255


def test_lines_whose_names_are_cut_have_files_of_their_own() -> None:
    one = run("regression", [[1], [2]], [[1], [4]])
    made = prediction_pictures([("own", "x" * 300, [one]), ("own", "x" * 301, [one])])
    assert len({picture.file for picture in made}) == 2


def test_runs_that_do_not_belong_together() -> None:
    one, other = (run("regression", [[1]], [[1]], [name]) for name in "pq")
    with pytest.raises(UserError, match="test outputs in the row of gmt on own"):
        pictures(one, other)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ((2.0, 0.5), "Probabilities are calibrated on the validation part."),
        ((1.0, 0.0), "Probabilities are as the model gives them: calibration changed nothing."),
    ],
)
def test_whether_probabilities_were_calibrated_is_told(line: Any, said: str) -> None:
    odds, truth = np.array([[1.0], [-2.0]]), np.array([[1.0], [0.0]])
    found = packed_outputs("binary", ["p"], (), odds, truth, line=np.array([line]))
    note = pictures(row(outputs=found, dataset="own"))[-1].note
    assert note.endswith(said)


def test_classes_are_calibrated_though_what_they_were_before_is_not_kept() -> None:
    likely = np.array([[0.6, 0.3, 0.1], [0.2, 0.8, 0.0]])
    found = packed_outputs(
        "multiclass", ["kind"], "abc", likely, np.array([0, 1]), sure=likely.max(1)
    )
    made = pictures(row(outputs=found, dataset="own"))
    assert [picture.title for picture in made] == [
        "Confusion matrix: gmt on own", "Calibration: gmt on own"
    ]  # fmt: skip
    assert made[1].note.endswith("Probabilities are calibrated on the validation part.")
