from __future__ import annotations

import statistics

import pytest
from report_rows import row

from gmpool.report.summary import by_splits, options_of, summarise

SCORES = {1: (80.0, 90.0, 70.0), 2: (60.0, 62.0, 64.0)}


def rows(**values: object) -> list[dict[str, object]]:
    return [
        row(seed=seed, fold=fold, test=test, seconds=1.25, **values)
        for seed, tests in SCORES.items()
        for fold, test in enumerate(tests, start=1)
    ]


def test_folds_are_averaged_first_and_the_deviation_is_over_seeds() -> None:
    (found,) = summarise(rows())
    assert found.test_mean == statistics.fmean([80.0, 62.0])
    assert found.test_std == pytest.approx(statistics.stdev([80.0, 62.0]))
    assert (found.runs, found.seeds, found.folds, found.std_over) == (6, 2, 3, "seeds")
    assert (found.seconds, found.epochs) == (7.5, 18)


def test_seeds_count_alike_even_when_one_is_not_complete() -> None:
    (found,) = summarise(rows()[:4])  # seed 2 has one fold only
    assert found.test_mean == statistics.fmean([80.0, 60.0])


def test_with_one_seed_the_deviation_is_over_folds() -> None:
    (found,) = summarise(rows()[:3])
    assert found.test_std == statistics.stdev(SCORES[1])
    assert found.std_over == "folds"


def test_one_run_has_no_deviation() -> None:
    (found,) = summarise(rows()[:1])
    assert (found.test_mean, found.test_std) == (80.0, None)


def test_undefined_scores_are_left_out_and_all_undefined_is_none() -> None:
    (found,) = summarise([row(fold=1, test=None), row(fold=2, test=50.0, valid=None)])
    assert (found.test_mean, found.runs, found.valid_mean) == (50.0, 2, 75.0)
    (found,) = summarise([row(test=None, valid=None)])
    assert (found.test_mean, found.test_std, found.valid_mean) == (None, None, None)


def test_groups_by_set_method_options_and_data() -> None:
    other_pool = row()
    other_pool["config"] = {"model": {"pool": {"num_heads": 2}}, "train": {"lr": 0.1}}
    mixed = [
        row(), row(dataset="DD"), row(method="mean"), other_pool, row(fold=2), row(data_digest="e"),
    ]  # fmt: skip
    found = summarise(mixed)
    assert [(s.dataset, s.method, s.runs) for s in found] == [
        ("MUTAG", "gmt", 2), ("DD", "gmt", 1), ("MUTAG", "mean", 1), ("MUTAG", "gmt", 1),
        ("MUTAG", "gmt", 1),
    ]  # fmt: skip
    assert found[3].options == "lr=0.1 pool.num_heads=2"


def test_options_are_one_text_in_a_fixed_order() -> None:
    given = row()
    given["config"] = {
        "model": {"method": "gmt", "hidden_dim": 8, "pool": {"num_heads": 4}},
        "train": {"lr": 0.1, "epochs": 3},
    }
    assert options_of(given) == "epochs=3 hidden_dim=8 lr=0.1 pool.num_heads=4"


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
        assert [(s.runs, s.test_mean) for s in summarise(mixed)] == [(2, 80.0), (3, 60.0)]


def test_folds_of_two_splittings_stay_together_run_after_run() -> None:
    first = [
        row(seed=seed, fold=fold, split_digest=f"a{fold}") for seed in (1, 2) for fold in (1, 2)
    ]
    second = [row(fold=fold, split_digest=f"b{fold}") for fold in (1, 2, 3)]
    found = by_splits(first[:2] + second + first[2:])
    assert [[r["split_digest"] for r in part] for part in found] == [
        ["a1", "a2", "a1", "a2"], ["b1", "b2", "b3"],
    ]  # fmt: skip
