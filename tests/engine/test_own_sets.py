"""How a plan says what its tables are."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_set import write_set
from plan_texts import plan_of
from small_sets import TEN_MOLECULES

from gmpool.engine.plan import read_plan
from gmpool.errors import UserError

ROWS = "".join(f"{s},{i % 2},{i % 3}\n" for i, s in enumerate(TEN_MOLECULES))
HEAD = 'datasets = ["a.csv", "b.csv", "own"]\nmethods = ["mean"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("smiles,toxic,kind\n" + ROWS)
    write_set(tmp_path / "own")
    return tmp_path


def tasks(folder: Path, text: str, **given: object) -> dict[str, list[str]]:
    plan_of(folder, HEAD + text)
    plan = read_plan(folder / "my-plan.toml", given)
    return {name: list(data.graphs.task_names) for name, data in plan.own.items()}


def test_columns_for_all_tables_and_for_one(folder: Path) -> None:
    text = "[table]\nlabel = 'toxic'\n[dataset_tables.'b.csv']\nlabel = ['kind', 'toxic']\n"
    text += "task = 'regression'\n"
    found = tasks(folder, text)
    assert (found["a"], found["b"]) == (["toxic"], ["kind", "toxic"])


def test_the_command_line_goes_over_the_plan(folder: Path) -> None:
    text = "[table]\nlabel = 'toxic'\n[dataset_tables.'b.csv']\nlabel = 'toxic'\n"
    found = tasks(folder, text, label=["kind"], task="regression")
    assert (found["a"], found["b"]) == (["kind"], ["kind"])


def test_what_is_read_is_part_of_what_a_run_is(folder: Path) -> None:
    keys = []
    for column in ("toxic", "kind"):
        plan = plan_of(folder, f"{HEAD}[table]\nlabel = '{column}'\ntask = 'regression'\n")
        keys.append({job.name: {run.key for run in job.runs} for job in plan.jobs()})
    assert keys[0]["SHAPES"] == keys[1]["SHAPES"]
    assert not keys[0]["a"] & keys[1]["a"]


def test_splits_are_keys_of_a_table_and_flags(folder: Path) -> None:
    text = f"{HEAD}[table]\nlabel = 'toxic'\nsplit = 'random'\nfolds = 4\nrepeats = 2\n"
    text += "[dataset_tables.'b.csv']\nsplit = 'stratified'\nsplit_seed = 3\n"
    plan = plan_of(folder, text)
    kinds = {name: dict(data.split_kind) for name, data in plan.own.items()}
    assert {name: kinds[name]["kind"] for name in kinds} == {
        "a": "random", "b": "stratified", "SHAPES": "random",
    }  # fmt: skip
    assert [kinds[name]["seed"] for name in ("a", "b", "SHAPES")] == [0, 3, 0]
    assert {job.name: len(job.runs) for job in plan.jobs()} == {"a": 8, "b": 8, "SHAPES": 8}
    given = {"split": "stratified", "folds": 3, "split_seed": 1, "split_sizes": None}
    over = read_plan(folder / "my-plan.toml", {k: v for k, v in given.items() if v is not None})
    assert all(data.split_kind["seed"] == 1 for data in over.own.values())
    assert {len(data.folds) for data in over.own.values()} == {6}
    plan_of(folder, f"folds = 2\n{text}")
    first = read_plan(folder / "my-plan.toml")
    assert {len(job.runs) for job in first.jobs()} == {2}, "of those that are made, the first"


def test_folds_of_a_plan_make_none_of_a_table(folder: Path) -> None:
    plan = plan_of(folder, f"folds = 3\n{HEAD}[table]\nlabel = 'toxic'\n")
    assert {job.name: len(job.runs) for job in plan.jobs()} == {"a": 1, "b": 1, "SHAPES": 3}


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        ("[table]\nlabel = 'toxic'\nfolds = 'ten'", {}, "folds takes a whole number, got 'ten'"),
        ("[table]\nlabel = 'toxic'\nsplit = 'time'", {}, "--split time needs the column"),
        ("[dataset_tables.'c.csv']\nlabel = 'y'\n", {}, "unknown set in dataset_tables"),
        ("[dataset_tables.own]\nlabel = 'y'\n[table]\nlabel = 'toxic'", {}, "--label is for a"),
        ("[table]\nlabel = 'toxics'\n", {}, "unknown column 'toxics'"),
        (
            "[table]\nlabel = 'toxic'\n",
            {"parameter": ["n=5"]},
            "--parameter means nothing to a plan of classify",
        ),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, text: str, given: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        tasks(folder, text, **given)


def test_columns_where_there_is_no_table(folder: Path) -> None:
    only = 'datasets = ["MUTAG", "own"]\nmethods = ["mean"]\n'
    with pytest.raises(UserError, match=r"\[table\] label is for none of the plan's sets"):
        plan_of(folder, f"{only}[table]\nlabel = 'toxic'\n")
    plan_of(folder, only)
    with pytest.raises(UserError, match="--label is for none of the plan's sets"):
        read_plan(folder / "my-plan.toml", {"label": ["toxic"]})


def test_a_graph_that_is_made_takes_its_parameters(tmp_path: Path) -> None:
    text = 'task = "reconstruct"\ndatasets = ["ring", "grid"]\nmethods = ["gmt"]\n'
    plan = plan_of(tmp_path, f"{text}[dataset_tables.ring]\nparameter = 'n=12'\n")
    assert plan.datasets == ("ring(n=12)", "grid")
