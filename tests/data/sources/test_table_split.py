"""The split of a table: by a column, as asked, or the random one of a table that says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gmpool.data import Dataset, random_split, with_splits
from gmpool.data import load_table as load_any_table
from gmpool.errors import DataError, UserError

pytest.importorskip("rdkit")
COUNT = 20
SMILES = ["C" * (i + 1) + ("c1ccccc1" if i % 3 else "C1CC1") for i in range(COUNT)]
PARTS = ["train"] * 14 + ["valid"] * 3 + ["test"] * 3
COLUMNS: dict[str, list[Any]] = {
    "smiles": SMILES,
    "y": [i % 2 for i in range(COUNT)],
    "set": PARTS,
    "cv": [i % 4 for i in range(COUNT)],
    "year": [2000 + i // 2 for i in range(COUNT)],
}


def table(folder: Path, *names: str, **columns: list[Any]) -> Path:
    chosen = {name: COLUMNS[name] for name in ("smiles", "y", *names)} | columns
    rows = [",".join(map(str, row)) for row in zip(*chosen.values(), strict=True)]
    path = folder / "t.csv"
    path.write_text("\n".join([",".join(chosen), *rows]) + "\n")
    return path


def load_table(path: Path, **options: Any) -> Dataset:
    return load_any_table(path, **{"label_columns": ["y"], **options})


def digests(dataset: Dataset) -> list[str]:
    return [split.digest for split in dataset.folds]


def test_without_a_word_it_is_what_it_always_was(tmp_path: Path) -> None:
    data = load_table(table(tmp_path))
    assert digests(data) == [random_split(COUNT).digest]
    assert data.split_kind == {"kind": "random", "sizes": [80, 10, 10], "seed": 0}
    assert data.understood[-1] == (
        "split: 16 train, 2 valid, 2 test (random 80/10/10, always the same, because no column "
        "says train, valid or test)"
    )
    again = load_table(table(tmp_path, smiles=SMILES[:10] * 2))
    assert digests(again) == digests(data), "though molecules are cut, of which it warns"
    assert again.understood[-1].startswith("warning: ")
    bare = load_table(table(tmp_path), label_columns=[])
    assert (bare.folds, bare.split_kind) == ((), {})
    assert len(load_table(table(tmp_path), label_columns=[], split="random").folds) == 1


def test_a_column_is_taken_where_it_is_named_or_found(tmp_path: Path) -> None:
    path = table(tmp_path, "set")
    found = load_table(path)
    assert found.split_kind == {"kind": "column", "column": "set"}
    for options in ({"split_column": "set"}, {"split": "column"},
                    {"split": "column", "split_column": "set"}):  # fmt: skip
        assert digests(load_table(path, **options)) == digests(found)
    other = load_table(path, split="random")
    assert digests(other) == [random_split(COUNT).digest] != digests(found)
    assert "not used: 'set'" in other.understood
    no_valid = load_table(table(tmp_path, set=["train"] * 15 + ["test"] * 5))
    assert no_valid.split_kind == {
        "kind": "column", "column": "set", "valid": "a tenth of train",
    }  # fmt: skip


def test_folds_of_a_column_are_taken_from_the_first_on(tmp_path: Path) -> None:
    path = table(tmp_path, "cv")
    whole = load_table(path, split_column="cv")
    assert whole.split_kind == {"kind": "column", "column": "cv", "folds": 4}
    first = load_table(path, split_column="cv", folds=2)
    assert digests(first) == digests(whole)[:2]
    assert any("folds: 2 (column 'cv', the first 2 of 4); the" in line for line in first.understood)
    with pytest.raises(UserError, match="t has 4 folds, got --folds 5; take 1 to 4, or have folds"):
        load_table(path, split_column="cv", folds=5)
    with pytest.raises(UserError, match="--repeats is for a split that is made, and the split is"):
        load_table(path, split_column="cv", folds=4, repeats=2)


def test_folds_without_a_kind_are_random_where_no_column_says_anything(tmp_path: Path) -> None:
    path = table(tmp_path, "set")
    made = load_table(path, split_column="none", folds=5, split_seed=2)
    assert digests(made) == digests(load_table(path, split="random", folds=5, split_seed=2))
    assert made.split_kind["folds"] == len(made.folds) == 5
    drawn = load_table(path, split_column="none", split_seed=2)
    assert digests(drawn) == [random_split(COUNT, 2).digest]
    with pytest.raises(UserError, match="t has one split, not folds, got --folds 5; leave --folds"):
        load_table(path, folds=5)


def test_the_kinds_are_those_of_any_set(tmp_path: Path) -> None:
    path = table(tmp_path, "set")
    base = load_table(path)
    several: list[dict[str, Any]] = [
        {"split": "stratified", "split_sizes": "60,20,20"},
        {"split": "scaffold", "split_sizes": "60,0,40"},
        {"split": "stratified", "folds": 4, "repeats": 2, "split_seed": 3},
    ]
    for options in several:
        asked = load_table(path, **options)
        made = with_splits(base, options.pop("split"), **options)
        assert digests(asked) == digests(made)
        assert asked.split_kind == made.split_kind


def test_the_latest_rows_are_tested(tmp_path: Path) -> None:
    data = load_table(table(tmp_path, "year"), split="time", time_column="year")
    (split,) = data.folds
    assert split.valid.tolist() == [16, 17]
    assert split.test.tolist() == [18, 19]
    assert data.split_kind == {
        "kind": "time", "sizes": [80, 10, 10], "column": "year", "groups": "molecule",
        "repeated_molecules": 0,
    }  # fmt: skip
    assert data.understood[-1] == (
        "split: 16 train, 2 valid, 2 test (time 80/10/10, always the same; tested from 2009 on in "
        "column 'year')"
    )
    assert data.graphs.task_names == ("y",), "the time is no label"
    assert data.times is not None
    assert data.times.values.tolist() == COLUMNS["year"]
    dates = [f"2020-01-{31 - i:02}" for i in range(COUNT)]
    backwards = load_table(table(tmp_path, year=dates), split="time", time_column="year")
    assert backwards.folds[0].test.tolist() == [0, 1]
    again = table(tmp_path, "year", smiles=[SMILES[-1], *SMILES[1:]])
    kept = load_table(again, split="time", time_column="year").folds[0]
    assert kept.test.tolist() == [0, 18, 19], "with its late row the early one is tested"


def test_a_time_that_cannot_be_read_is_a_bad_row(tmp_path: Path) -> None:
    years = [*COLUMNS["year"][:-2], "", "late"]
    path = table(tmp_path, year=years)
    with pytest.raises(DataError) as caught:
        load_table(path, split="time", time_column="year")
    assert f"{path}:20: no time in column 'year'" in str(caught.value)
    assert f"{path}:21: time 'late' in column 'year' is no ISO date" in str(caught.value)
    assert "leave them out with --skip-bad-rows" in str(caught.value)
    data = load_table(path, split="time", time_column="year", skip_bad_rows=True)
    assert len(data) == COUNT - 2
    assert data.folds[0].test.tolist() == [16, 17]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "time", "time_column": "yaer"}, "unknown column 'yaer'; did you mean 'year'"),
        ({"split": "time", "time_column": "same"}, "'same' has fewer different times than the sp"),
        ({"split": "column"}, "t: no column says train, valid or test; name one with --split-col"),
        ({"split": "time", "time_column": "year", "label_columns": ["year"]},
         "column 'year' cannot be a label: it holds the molecules, the split or the times"),
        ({"split": "scaffold"}, "t has 2 scaffolds, too few for 3 parts; take more data, or --sp"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_table(table(tmp_path, "year", same=[1] * COUNT), **options)
