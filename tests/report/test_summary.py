from __future__ import annotations

import statistics

import numpy as np
import pytest
from report_rows import row, settings

from gmpool.record import Row
from gmpool.report.recorded_outputs import packed_outputs
from gmpool.report.summary import (
    by_splits,
    differing,
    label,
    options_of,
    settings_of,
    summarise,
    summary_grid,
)

SCORES = {1: (80.0, 90.0, 70.0), 2: (60.0, 62.0, 64.0)}


def rows(**values: object) -> list[Row]:
    return [
        row(seed=seed, fold=fold, test=test, seconds=1.25, **values)
        for seed, tests in SCORES.items()
        for fold, test in enumerate(tests, start=1)
    ]


def test_folds_are_averaged_first_and_the_deviation_is_over_seeds() -> None:
    (found,) = summarise(rows())
    numbers = found.to_json()
    assert numbers["test_mean"] == statistics.fmean([80.0, 62.0])
    assert numbers["test_std"] == pytest.approx(statistics.stdev([80.0, 62.0]))
    assert [numbers[k] for k in ("runs", "seeds", "folds", "std_over")] == [6, 2, 3, "seeds"]
    assert (numbers["seconds"], numbers["epochs"]) == (7.5, 18)


def test_seeds_count_alike_even_when_one_is_not_complete() -> None:
    (found,) = summarise(rows()[:4])  # seed 2 has one fold only
    assert found.score.mean == statistics.fmean([80.0, 60.0])


def test_with_one_seed_the_deviation_is_over_folds() -> None:
    (found,) = summarise(rows()[:3])
    assert found.score.std == statistics.stdev(SCORES[1])
    assert found.score.over == "folds"


def test_one_run_has_no_deviation() -> None:
    (found,) = summarise(rows()[:1])
    assert (found.score.mean, found.score.std) == (80.0, None)


def test_undefined_scores_are_left_out_and_all_undefined_is_none() -> None:
    (found,) = summarise([row(fold=1, test=None), row(fold=2, test=50.0, valid=None)])
    assert (found.score.mean, found.score.runs, found.valid) == (50.0, 2, 75.0)
    (found,) = summarise([row(test=None, valid=None)])
    assert (found.score.mean, found.score.std, found.valid) == (None, None, None)


def test_groups_by_set_method_options_and_data() -> None:
    other_pool = row(config=settings(pool={"num_heads": 2}))
    mixed = [
        row(), row(dataset="DD"), row(method="mean"), other_pool, row(fold=2), row(data_digest="e"),
    ]  # fmt: skip
    found = summarise(mixed)
    assert [(s.dataset, s.method, s.score.runs) for s in found] == [
        ("MUTAG", "gmt", 2), ("DD", "gmt", 1), ("MUTAG", "mean", 1), ("MUTAG", "gmt", 1),
        ("MUTAG", "gmt", 1),
    ]  # fmt: skip
    assert found[3].options == "hidden_dim=8 lr=0.1 pool.num_heads=2"


def test_options_are_one_text_in_a_fixed_order() -> None:
    given = settings(pool={"num_heads": 4})
    given["train"]["epochs"] = 3
    assert options_of(row(config=given)) == "epochs=3 hidden_dim=8 lr=0.1 pool.num_heads=4"


def test_paper_value_stands_beside_ours() -> None:
    (found,) = summarise([row()])
    assert found.to_json()["paper"] == {"mean": 83.44, "std": 1.33, "best_or_comparable": True}
    (found,) = summarise([row(dataset="mine")])
    assert found.to_json()["paper"] is None


def test_rows_of_two_splits_of_the_same_data_stay_apart() -> None:
    """Two CSVs of one name that differ in the split column only."""
    first = [row(seed=seed, split_digest="a", test=80.0) for seed in (1, 2)]
    second = [row(seed=seed, split_digest="b", test=60.0) for seed in (1, 2, 3)]
    for mixed in (first + second, [*first[:1], *second, *first[1:]]):
        assert [(s.score.runs, s.score.mean) for s in summarise(mixed)] == [(2, 80.0), (3, 60.0)]


def test_folds_of_two_splittings_stay_together_run_after_run() -> None:
    first = [
        row(seed=seed, fold=fold, split_digest=f"a{fold}") for seed in (1, 2) for fold in (1, 2)
    ]
    second = [row(fold=fold, split_digest=f"b{fold}") for fold in (1, 2, 3)]
    found = by_splits(first[:2] + second + first[2:])
    assert [[r.split_digest for r in part] for part in found] == [
        ["a1", "a2", "a1", "a2"], ["b1", "b2", "b3"],
    ]  # fmt: skip


def labels(*given: Row) -> list[str]:
    return [s.label for s in summarise(given)]


def test_lines_that_differ_are_told_apart_by_what_differs() -> None:
    heads = row(config=settings(pool={"num_heads": 2}))
    assert labels(row(), row(fold=2)) == ["gmt"], "nothing to tell it from"
    assert labels(row(), heads) == ["gmt", "gmt (num_heads=2)"]
    assert labels(row(), row(data_digest="e")) == ["gmt (data=d)", "gmt (data=e)"]
    assert labels(row(split_digest="a"), row(split_digest="b")) == [
        "gmt (split=a)", "gmt (split=b)",
    ]  # fmt: skip
    assert labels(row(), row(dataset="DD", data_digest="e"), row(method="mean")) == [
        "gmt", "gmt", "mean",
    ]  # fmt: skip
    assert labels(row(), row(fold=2, config=heads.config)) == ["gmt", "gmt (num_heads=2)"], (
        "another fold is no other split"
    )


HEADINGS = [
    "dataset", "method", "metric", "test", "valid", "paper", "difference", "seeds × folds",
    "epochs", "time", "parameters",
]  # fmt: skip
GRID = summary_grid(summarise([row(fold=1, test=80.0), row(fold=2, test=90.0),
                               row(dataset="mine", metric="rmse")]))  # fmt: skip


def texts(number: int) -> dict[str, str]:
    return {c.heading: c.squares[number].text for c in GRID.columns}


def test_columns() -> None:
    assert [c.heading for c in GRID.columns] == HEADINGS
    assert [c.left for c in GRID.columns] == [True] * 3 + [False] * 8
    assert [c.heading for c in GRID.columns if c.essential] == [
        "dataset", "method", "metric", "test", "paper", "difference", "time",
    ]  # fmt: skip
    assert texts(0) == {
        "dataset": "MUTAG",
        "method": "gmt",
        "metric": "accuracy %",
        "test": "85.00 ± 7.07 ᶠ",
        "valid": "75.00",
        "paper": "83.44 ± 1.33",
        "difference": "+1.56",
        "seeds × folds": "1 × 2",
        "epochs": "6",
        "time": "2 min 03 s",
        "parameters": "12,345",
    }


def test_a_set_the_paper_does_not_have() -> None:
    found = texts(1)
    assert (found["metric"], found["test"], found["paper"], found["difference"]) == (
        "rmse", "80.00", "–", "–",
    )  # fmt: skip


def test_without_any_number_of_the_paper_there_is_no_column_for_it() -> None:
    grid = summary_grid(summarise([row(dataset="mine", source="s")]))
    assert [c.heading for c in grid.columns] == [
        h for h in HEADINGS if h not in ("paper", "difference")
    ]
    assert grid.notes == []


def test_only_a_deviation_over_folds_is_marked() -> None:
    grid = summary_grid(summarise([row(seed=1), row(seed=2, test=90.0)]))
    assert grid.columns[3].squares[0].text == "85.00 ± 7.07"
    assert not any("ᶠ" in note for note in grid.notes)
    assert any("ᶠ: one seed only" in note for note in GRID.notes)


def test_records_are_plain_numbers_and_the_whole_has_the_paper_as_one() -> None:
    first, second = GRID.records
    assert (first["test_mean"], first["test_std"]) == (85.0, pytest.approx(7.0710678))
    assert (first["paper_mean"], first["paper_std"], first["runs"]) == (83.44, 1.33, 2)
    assert (second["dataset"], second["paper_mean"], second["test_std"]) == ("mine", None, None)
    assert isinstance(GRID.whole, list)
    first, second = GRID.whole
    assert (first["test_mean"], first["std_over"], first["options"], first["label"]) == (
        85.0, "folds", "hidden_dim=8 lr=0.1", "gmt",
    )  # fmt: skip
    assert second["paper"] is None


def test_the_last_note_says_of_which_code() -> None:
    assert GRID.notes[-1] == "code: 3 runs of 1 commit, of which 3 do not say their source"


def test_a_picture_per_set_and_what_a_page_ends_with() -> None:
    assert [p.file for p in GRID.pictures] == ["curves-MUTAG.png", "curves-mine.png"]
    png = GRID.pictures[0].draw()
    assert png is not None
    assert png.startswith(b"\x89PNG")
    assert ("gmt on mine", "hidden_dim=8 lr=0.1") in GRID.facts


def test_settings_have_one_name_each() -> None:
    given = row(config=settings(pool={"conv": "gin"}, conv="gcn"))
    assert settings_of(given) == {"hidden_dim": 8, "conv": "gcn", "pool.conv": "gin", "lr": 0.1}
    bare = row(config={"model": {"method": "gmt"}, "train": {}})
    assert settings_of(bare) == {}, "a row may be too old to have a pool"


def test_what_differs_within_a_group() -> None:
    lines = [
        ("a", {"lr": 0.1, "blocks": ["x"], "epochs": 3}),
        ("a", {"lr": 0.2, "blocks": ["x"], "epochs": 3, "new": None}),
        ("a", {"lr": 0.1, "blocks": ["x", "y"], "epochs": 3}),
        ("b", {"lr": 7}),
    ]
    assert differing(lines) == {"a": {"lr", "blocks"}, "b": set()}


def test_a_setting_that_only_one_has_differs() -> None:
    assert differing([(0, {}), (0, {"layers": 2})]) == {0: {"layers"}}


def test_label() -> None:
    mine = {"pool.num_heads": 2, "lr": 0.1, "data": "abc"}
    assert label("GMT", mine, ()) == "GMT"
    assert label("GMT", mine, {"lr", "pool.num_heads", "other"}) == "GMT (lr=0.1, num_heads=2)"


def test_what_the_score_of_several_labels_is_the_mean_of() -> None:
    part = {"count": [9, 9], "roc_auc": [80.0, None]}
    scores = {"labels": ["p", "q"], "test": part}
    note = (
        "test, valid on own: the mean over those of its 2 label columns where the score is defined"
    )
    kept = packed_outputs("binary", ["p", "q"], (), np.ones((1, 2)), np.ones((1, 2)))
    own = row(dataset="own", scores=scores, outputs=kept)
    (line,) = summarise([own])
    assert line.is_own
    assert note in summary_grid([line]).notes
    (other,) = summarise([row(dataset="own", scores=scores)])
    assert note not in summary_grid([other]).notes, "of a named set it is known"
