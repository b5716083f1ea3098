from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ranking_rows import GIVEN, cell, ranking_row

from gmpool.errors import StoreError, UserError
from gmpool.tasks.retrosynthesis.recorded import Run, lines_by_set, require_runs

CLASSES: dict[str, Any] = {"groups": [0, 0, 1, 1], "classes": ["1", "2"]}


def test_scores_of_a_run() -> None:
    run = Run.of(ranking_row("mean", [1, 4, 0, 51], merged=[1, 3, 0, 40], **CLASSES))
    assert [run.at("published", k) for k in (1, 3, 5, 50)] == [25, 25, 50, 50]
    assert [run.at("merged", k) for k in (1, 3, 5, 50)] == [25, 50, 50, 75]
    assert run.reactions == 4
    assert run.ranks["published"].tolist() == [1, 4, 0, 51]
    assert run.by_class["1"].reactions == 2
    assert run.by_class["2"].top["merged"].tolist() == [0, 0, 0, 0, 0, 50]


def test_ranks_and_classes_may_be_missing() -> None:
    row = ranking_row("mean", [1, 0])
    bare = {"top": row.more["retrosynthesis"]["top"]}
    run = Run.of(replace(row, more={"retrosynthesis": bare}))
    assert (run.at("published", 1), run.reactions) == (50, None)
    assert not run.by_class


def test_what_was_not_counted_is_nan() -> None:
    none = {"published": [None] * 6, "merged": [None] * 6}
    (line,) = lines_by_set([cell("mean", [ranking_row("mean", [1], more={"top": none})])])[
        "USPTO-50k"
    ]
    assert math.isnan(line.runs[0].at("merged", 10))
    assert line.tops("merged", 10) == []
    assert line.text([]) == "–"


def test_runs_by_seed_and_rows_that_have_no_part() -> None:
    rows = [ranking_row("mean", ranks, seed=seed) for seed, ranks in ((2, [1]), (1, [2]), (2, [9]))]
    only_valid = replace(rows[0], seed=3, more={"retrosynthesis": {"valid_top": {}}})
    silent = replace(rows[0], seed=4, more={})
    cells = [cell("mean", [*rows, only_valid, silent], asked=5, left_out=2)]
    (line,) = lines_by_set(cells)["USPTO-50k"]
    assert [(run.seed, run.ranks["published"].tolist()) for run in line.runs] == [
        (1, [2]), (2, [1]),
    ]  # fmt: skip
    assert (line.untested, line.left_out, line.asked) == (2, 2, 5)


def test_lines_that_the_paper_has() -> None:
    def paper(method: str, dataset: str = "USPTO-50k", label: str = "x", **of: Any) -> list[float]:
        made = cell(label, [ranking_row(method, [1], dataset=dataset)], **of)
        return list(lines_by_set([made])[dataset][0].paper.values())

    assert paper("mean") == [51.41, 67.55, 74.92, 83.48, 88.64, 92.37]
    assert paper("mincut", GIVEN) == [63.91, 79.19, 84.76, 89.69, 92.13, 93.23]
    assert paper("gmpool") == [51.83, 68.20, 75.17, 83.20, 89.33, 92.47]
    assert paper("gmpool", GIVEN, "GMPool_1") == [64.17, 79.61, 85.32, 89.97, 92.31, 93.25]
    assert paper("gmpool", changed=True) == [], "with options of its own"
    assert paper("mean", "mine") == []
    for other in ("gmt", "max", "frequency"):
        assert paper(other, label=other) == []


def test_what_learns_nothing_does_not_deviate() -> None:
    rows = [ranking_row(name, [1], seed=n) for name in ("frequency", "mean") for n in (1, 2)]
    lines = lines_by_set([cell("a", rows[:2]), cell("b", rows[2:])])["USPTO-50k"]
    assert [line.text([5.0, 5.0]) for line in lines] == ["5.00", "5.00 ± 0.00"]


def test_nothing_to_show() -> None:
    with pytest.raises(UserError, match="gmpool retro train or gmpool run gln records some"):
        require_runs({})
    row = replace(ranking_row("mean", [1]), more={"retrosynthesis": {}})
    with pytest.raises(UserError, match=r"none of the recorded runs \(1\) was tested"):
        require_runs(lines_by_set([cell("mean", [row])]))


@pytest.mark.parametrize(
    "change",
    [
        {"top": None}, {"top": {}}, {"top": {"published": [1.0] * 6}},
        {"top": {"published": [1.0] * 6, "merged": [1.0] * 5}},
        {"top": {"published": [1.0] * 6, "merged": [True] * 6}},
        {"top": {"published": [1.0] * 6, "merged": ["1"] * 6}},
        {"ranks": []}, {"ranks": {"published": [1, 2]}},
        {"ranks": {"published": [1, 2], "merged": [1]}},
        {"ranks": {"published": [1, -2], "merged": [1, 2]}},
        {"ranks": {"published": [1, 2.5], "merged": [1, 2]}},
        {"ranks": {"published": [], "merged": []}},
        {"by_class": 3}, {"by_class": {"1": {}}},
        {"by_class": {"1": {"reactions": 0, "published": [1.0] * 6, "merged": [1.0] * 6}}},
        {"by_class": {"1": {"published": [1.0] * 6, "merged": [1.0] * 6}}},
    ],
)  # fmt: skip
def test_a_changed_row_is_named(change: dict[str, Any]) -> None:
    row = ranking_row("mean", [1, 2], more=None)
    found = {**row.more["retrosynthesis"], **change}
    changed = replace(row, more={"retrosynthesis": found})
    with pytest.raises(StoreError, match=r"the recorded row USPTO-50k mean \[\] 42 cannot be used"):
        lines_by_set([cell("mean", [changed])])


@pytest.mark.parametrize("found", [[], 7, "top"])
def test_scores_of_another_type_are_named(found: Any) -> None:
    row = replace(ranking_row("mean", [1]), more={"retrosynthesis": found})
    with pytest.raises(StoreError):
        lines_by_set([cell("mean", [row])])


def test_ranks_are_numbers_of_their_own() -> None:
    run = Run.of(ranking_row("mean", [3, 0]))
    assert run.ranks["merged"].dtype == np.int64
