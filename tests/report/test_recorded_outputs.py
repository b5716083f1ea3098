"""What rows keep of the outputs of the test part, there and back, and after somebody changed it."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_rows import row

from gmpool.errors import UserError
from gmpool.packed_numbers import pack_numbers
from gmpool.report.recorded_outputs import (
    FEWEST_DRAWN,
    MOST_NUMBERS,
    Outputs,
    kept_graphs,
    packed_outputs,
    recorded_outputs,
)

NAN = np.nan
NUMBERS = np.array([[0.5, NAN], [NAN, NAN], [-1.0, 1e9]])
MARGINS = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, -1.0]])


def kept(task: str = "regression", **more: Any) -> dict[str, Any]:
    """Two numbers, two answers, or one of two classes."""
    if task == "multiclass":
        found = packed_outputs(task, ["kind"], ["a", "b"], MARGINS, np.array([1, 1, -1]))
    elif task == "binary":
        found = packed_outputs(task, ["p", "q"], (), np.ones((3, 2)), (NUMBERS > 0) * 1.0)
    else:
        found = packed_outputs(task, ["p", "q"], (), np.ones((3, 2)), NUMBERS)
    assert found is not None
    return {**found, **more}


def read(found: Any) -> Outputs | None:
    return recorded_outputs(row(outputs=found, dataset="own", seed=7, fold=3))


def test_numbers_with_gaps_and_without_graphs_that_have_no_label() -> None:
    found = read(kept())
    assert found is not None
    np.testing.assert_array_equal(found.truth, NUMBERS[[0, 2]])
    np.testing.assert_array_equal(found.made, np.ones((2, 2)))
    assert found.of == ("regression", ("p", "q"), ())


def test_answers_with_gaps() -> None:
    made, truth = np.array([[1.5, -2.0], [0.0, 3.0]]), np.array([[1.0, NAN], [0.0, 1.0]])
    found = read(packed_outputs("binary", ["p", "q"], (), made, truth))
    assert found is not None
    np.testing.assert_array_equal(found.truth, truth)
    np.testing.assert_array_equal(found.made, made)


def test_classes_and_how_sure_one_of_two_is() -> None:
    found = read(kept("multiclass"))
    assert found is not None
    assert found.margin is not None
    assert (found.truth.tolist(), found.made.tolist()) == ([[1], [1]], [[1], [0]])
    assert found.margin.tolist() == [2.0, 0.0]
    named = packed_outputs("multiclass", ["k"], "ab", MARGINS, np.array([0, 1, 1]), ranked=False)
    assert named is not None
    assert "margin" not in named
    three = packed_outputs("multiclass", ["k"], "abc", np.eye(3), np.arange(3))
    assert three is not None
    assert "margin" not in three


def test_what_is_not_kept() -> None:
    many = np.zeros((MOST_NUMBERS + 1, 1))
    assert packed_outputs("regression", ["p"], (), many[1:], many[1:]) is not None
    wide = np.zeros((FEWEST_DRAWN, 1 + MOST_NUMBERS // FEWEST_DRAWN))
    assert packed_outputs("regression", ["p"] * wide.shape[1], (), wide, wide) is None
    assert packed_outputs("regression", ["p"], (), np.full((2, 1), np.inf), many[:2]) is None
    assert packed_outputs("regression", ["p"], (), many[:2], many[:2] * NAN) is None
    names = [str(i) for i in range(21)]
    assert packed_outputs("multiclass", ["k"], names, np.eye(21), np.arange(21)) is None
    assert recorded_outputs(row()) is None


def test_of_too_many_some_are_drawn_always_alike() -> None:
    truth = np.arange(9000.0)[:, None].repeat(2, 1)
    truth[::3] = NAN
    found, again = (
        packed_outputs("regression", ["p", "q"], (), truth + 1, truth, deviation=truth)
        for _ in range(2)
    )
    assert found == again
    outputs = read(found)
    assert outputs is not None
    assert outputs.deviation is not None
    assert (len(outputs.truth), outputs.graphs) == (MOST_NUMBERS // 2, 6000)
    np.testing.assert_array_equal(outputs.made, outputs.truth + 1)
    np.testing.assert_array_equal(outputs.deviation, outputs.truth)
    assert outputs.truth[:, 0].tolist() == kept_graphs("regression", truth).tolist()
    assert set(np.diff(outputs.truth[:, 0]) > 0) == {True}
    all_kept = read(kept())
    assert all_kept is not None
    assert all_kept.graphs == len(all_kept.truth) == 2


def test_what_calibrates_and_how_unsure_it_was() -> None:
    ones, line = np.ones((3, 2)), np.array([[1.5, -0.25], [1.0, 0.0]])
    found = packed_outputs("binary", "pq", (), ones, (NUMBERS > 0) * 1.0, line=line, deviation=ones)
    outputs = read(found)
    assert outputs is not None
    assert outputs.line is not None
    assert outputs.deviation is not None
    np.testing.assert_array_equal(outputs.line, line)
    np.testing.assert_array_equal(outputs.deviation, ones)
    sure = np.array([0.5, 0.75, 0.25])
    three = packed_outputs("multiclass", ["k"], "abc", np.eye(3), np.array([0, -1, 2]), sure=sure)
    assert three is not None
    outputs = read(three)
    assert outputs is not None
    assert outputs.sure is not None
    assert outputs.sure.tolist() == [0.5, 0.25]
    outputs = read(kept())
    assert outputs is not None
    assert (outputs.line, outputs.sure, outputs.deviation) == (None, None, None)


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_rows_stay_small(task: str) -> None:
    draw = np.random.default_rng(0)
    truth = draw.random((1000, 1)).round(0 if task == "binary" else 4)
    made = draw.normal(size=(1000, 3 if task == "multiclass" else 1))
    labels = draw.integers(3, size=1000) if task == "multiclass" else truth
    found = packed_outputs(task, ["p"], "abc" if task == "multiclass" else (), made, labels)
    assert found is not None
    assert sum(len(found[name]) for name in ("truth", "made")) < 11_000


@pytest.mark.parametrize(
    "found",
    [
        "text", 3, [], {}, {"task": "regression"}, {"task": []},
        kept(task="regression", labels=[]), kept(labels=["p", "q", "r"]), kept(labels="pq"),
        kept(labels=["p", 3]), kept(truth=None), kept(truth="no base64!"), kept(made=""),
        kept(made=kept()["made"][:-8]), kept(classes=["a"]),
        kept(made=pack_numbers(np.array([1, 1, 1, NAN]), "<f4")),
        kept(truth=pack_numbers(np.array([1, 1, 1, np.inf]), "<f4")),
        kept(made=pack_numbers(np.ones(6), "<f4")),
        kept("binary", truth=pack_numbers(np.full(6, 3), "<u1")),
        kept("multiclass", classes=[]), kept("multiclass", classes=["a"]),
        kept("multiclass", classes=["a", "b", "c"]), kept("multiclass", labels=["p", "q"]),
        kept("multiclass", made=pack_numbers(np.full(2, 2), "<u1")),
        kept("multiclass", margin=3), kept("multiclass", classes=["a"] * 21),
        kept("multiclass", margin=pack_numbers(np.ones(1), "<f4")),
        kept("binary", line=[[1.0, 0.0]]), kept("binary", line=[[1.0], [0.0]]),
        kept("binary", line=3),
        kept("binary", line=[[1.0, 1e300], [1.0, 0.0]]), kept("binary", line=[["a", 0], [1, 0]]),
        kept("multiclass", sure=pack_numbers(np.array([0.5, 1.5]), "<f4")),
        kept("multiclass", sure=1),
        kept(deviation=pack_numbers(np.ones(3), "<f4")), kept(deviation="x"),
        kept(deviation=pack_numbers(-np.ones(4), "<f4")), kept(of=1), kept(of=2.5), kept(of="2"),
    ],
)  # fmt: skip
def test_a_row_that_was_changed_is_named(found: Any) -> None:
    with pytest.raises(UserError, match="test outputs in the row of gmt on own, seed 7 fold 3"):
        read(found)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(
    st.sampled_from(["regression", "binary", "multiclass"]),
    st.sampled_from(
        ["task", "labels", "classes", "truth", "made", "margin", "line", "sure", "deviation", "of"]
    ),
    JSON,
)
def test_whatever_stands_there_is_outputs_or_our_error(task: str, name: str, value: Any) -> None:
    with contextlib.suppress(UserError):
        assert read(kept(task) | {name: value})
