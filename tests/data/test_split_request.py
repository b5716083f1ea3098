"""What can be asked of a split, and what a user is told who asks for something else."""

from __future__ import annotations

from typing import Any

import pytest

from gmpool.data.split_request import SplitRequest, read_shares
from gmpool.errors import UserError, WrongType

BAD: list[tuple[dict[str, Any], str]] = [
    ({"split": "scafold"}, "unknown kind of split 'scafold'; did you mean 'scaffold'"),
    ({"split": "random", "folds": 2}, "--folds must be at least 3, .* got 2; one split is made"),
    ({"folds": 0}, "--folds must be at least 1, got 0"),
    ({"split": "random", "folds": 5, "repeats": 0}, "--repeats must be at least 1, got 0"),
    ({"split": "random", "repeats": 2}, "--repeats does folds again.*add --folds, such as"),
    ({"repeats": 2}, "--repeats does folds again"),
    ({"split": "random", "split_seed": -1}, r"--split-seed lies in 0 … 2\^63 - 1, got -1"),
    ({"split": "random", "folds": 5, "split_sizes": "80,10,10"}, "leave --split-sizes or --folds"),
    ({"split": "scaffold", "split_seed": 1}, "--split scaffold is always the same .*add --folds"),
    ({"split": "time", "time_column": "t", "split_seed": 0}, "--split time is always the same; "),
    ({"split": "time", "time_column": "t", "folds": 5}, "latest rows are tested; leave --folds"),
    ({"split": "time"}, "--split time needs the column with the times: add --time-column NAME"),
    ({"time_column": "year"}, "--time-column year is for --split time; add that, or leave"),
    ({"split": "random", "time_column": "year"}, "--time-column year is for --split time"),
    ({"split": "random", "split_column": "set"}, "--split-column set is for --split column, got"),
    ({"split": "column", "split_column": "none"}, "--split column needs a column, got"),
    ({"split": "column", "split_seed": 3}, "--split-seed is for a split that is made, and --split"),
    ({"split": "column", "split_sizes": "80,10,10"}, "--split-sizes is for a split that is made"),
    ({"split": "column", "folds": 5, "repeats": 2}, "--repeats is for a split that is made"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=str)
def test_what_goes_ill_together_says_what_to_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        SplitRequest.of(**options)


def test_what_is_no_number_is_of_the_wrong_type() -> None:
    for key in ("folds", "repeats", "split_seed"):
        with pytest.raises(WrongType, match=f"option {key} takes a whole number, got 'x'"):
            SplitRequest.of(**{key: "x"})  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["70,15,15", "0.7, 0.15, 0.15", (70, 15, 15), [0.7, 0.15, 0.15]])
def test_shares_are_percent_or_parts_of_one(given: Any) -> None:
    assert read_shares(given) == (70, 15, 15)
    assert [type(share) for share in read_shares(given)] == [int, int, int]


def test_a_share_may_be_nothing_but_not_that_of_train() -> None:
    assert read_shares("90,10,0") == (90, 10, 0)
    assert read_shares("100,0,0") == (100, 0, 0)
    assert read_shares("33.3,33.3,33.4") == (33.3, 33.3, 33.4)


@pytest.mark.parametrize(
    "given", ["70,15", "70,15,16", "a,b,c", "0,50,50", "110,-5,-5", "nan,50,50", (1, 2), 5, ""]
)
def test_shares_that_are_none(given: Any) -> None:
    with pytest.raises(UserError, match=r"--split-sizes takes the shares .* such as 70,15,15, got"):
        read_shares(given)


def test_what_nobody_said_has_a_value() -> None:
    request = SplitRequest.of("random")
    assert (request.seed, request.repeats, request.shares) == (0, 1, (80, 10, 10))
    assert request.fractions == (0.8, 0.1, 0.1)
    assert request.is_made
    assert not request.is_fixed
    assert not SplitRequest.of("column", split_column="set").is_made
    assert not SplitRequest.of("random", split_column="NONE").is_fixed
    assert SplitRequest.of("scaffold").is_fixed
    assert not SplitRequest.of("scaffold", folds=5).is_fixed
    assert SplitRequest.of("time", time_column="t").is_fixed


def test_without_a_kind_it_may_become_a_random_one() -> None:
    request = SplitRequest.of(folds=5, split_seed=3)
    assert not request.is_made
    assert request.as_random() == SplitRequest.of("random", folds=5, split_seed=3)
    with pytest.raises(UserError, match="--folds must be at least 3"):
        SplitRequest.of(folds=2).as_random()


def test_what_is_made_is_refused_where_there_is_a_split() -> None:
    SplitRequest.of(folds=5).require_nothing_made("there is one")
    for options, flag in (
        ({"split_seed": 0}, "--split-seed"),
        ({"split_sizes": "80,10,10"}, "--split-sizes"),
    ):
        with pytest.raises(
            UserError, match=f"{flag} is for a split that is made, and there is one; .*add"
        ):
            SplitRequest.of(**options).require_nothing_made("there is one")  # type: ignore[arg-type]
