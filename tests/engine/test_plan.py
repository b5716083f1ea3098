from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from own_set import write_set
from plan_texts import SMALL, Mistake, assert_refused, broken, plan_of
from small_sets import OPTIONS

from gmpool.config import TrainConfig
from gmpool.data import CATALOGUE
from gmpool.engine.executors.executor import Alone
from gmpool.engine.job import Job, Recorded
from gmpool.engine.plan import read_plan, shipped_plans
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError
from gmpool.tasks.classify.settings import AUTHORS, ModelConfig

PAPER_METHODS = (
    "mean", "gin", "set2set", "sortpool", "diffpool", "sagpool-global", "sagpool", "topk",
    "mincut", "structpool", "asap", "edgepool", "haarpool", "gmt",
)  # fmt: skip
QUICK = "[options]\n" + "".join(f"{key} = {value}\n" for key, value in OPTIONS.items())


def test_a_short_plan_and_its_defaults(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SMALL)
    assert (plan.name, plan.title, plan.task.name) == ("my-plan", "my-plan", "classify")
    assert plan.header == {}
    assert (plan.seeds, plan.first_seed, plan.folds) == (1, 42, None)
    jobs = plan.jobs()
    assert [(job.label, job.model.method, job.name) for job in jobs] == [
        ("mean", "mean", "MUTAG"), ("mean", "mean", "ogbg-molbbbp"),
        ("gmt", "gmt", "MUTAG"), ("gmt", "gmt", "ogbg-molbbbp"),
    ]  # fmt: skip
    assert [(job.seeds, job.folds, len(job.runs)) for job in jobs[:2]] == [
        ((42,), tuple(range(1, 11)), 10), ((42,), (1,), 1),
    ]  # fmt: skip
    assert jobs[2].model == ModelConfig(pool={"num_heads": 4, "layer_norm": True})
    assert jobs[2].train == TrainConfig()
    assert jobs[3].train.lr == AUTHORS["ogbg-molbbbp"]["lr"] == 1e-3


def test_all_that_a_plan_can_say(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'title = "Mine"\npaper = "ablation"\npart = "valid"\nseeds = 3\nfirst_seed = 7\nfolds = 2\n'
        + SMALL
        + '[[line]]\nlabel = "deep"\nmethod = "gmt"\noptions = { num_layers = 5 }\n'
        + '[[line]]\nmethod = "gmt"\nlabel = "GIN"\noptions = { conv = "gin", pool.conv = "gin" }\n'
        + '[options]\npatience = "none"\n[dataset_options.MUTAG]\nepochs = 9\n',
    )
    assert (plan.title, plan.folds) == ("Mine", 2)
    assert plan.header == {"paper": "ablation", "part": "valid"}
    assert [line.label for line in plan.lines] == ["mean", "gmt", "deep", "GIN"]
    jobs = plan.jobs()
    assert {job.seeds for job in jobs} == {(7, 8, 9)}
    assert [job.folds for job in jobs[:2]] == [(1, 2), (1,)], "a set with fewer has all of its own"
    assert [job.model.num_layers for job in jobs] == [3, 3, 3, 3, 5, 5, 3, 3]
    assert [job.train.epochs for job in jobs[:2]] == [9, 500]
    assert {job.train.patience for job in jobs} == {None}
    assert (jobs[-1].model.conv, jobs[-1].model.pool["conv"]) == ("gin", "gin")


def test_the_nearer_option_counts(tmp_path: Path) -> None:
    layers = {
        "": 4,  # published
        "[options]\nnum_heads = 8\n": 8,
        "[options]\nnum_heads = 8\n[dataset_options.MUTAG]\nnum_heads = 16\n": 16,
        # Two spellings of one option do not change the order.
        "[options]\n'pool.num_heads' = 8\n[dataset_options.MUTAG]\nnum_heads = 16\n": 16,
    }
    line = '[[line]]\nmethod = "gmt"\noptions = {}\n'
    for text, heads in layers.items():
        given = f'datasets = ["MUTAG"]\n{line}{text}'
        assert plan_of(tmp_path, given).jobs()[0].model.pool["num_heads"] == heads
        nearest = given.replace("options = {}", "options = { pool.num_heads = 2 }")
        assert plan_of(tmp_path, nearest).jobs()[0].model.pool["num_heads"] == 2


def test_a_cell_is_the_job_that_gmpool_train_does(tmp_path: Path) -> None:
    write_set(tmp_path / "own")
    text = f'datasets = ["own"]\nmethods = ["gmt"]\nseeds = 2\nfolds = 2\n{QUICK}'
    plan = plan_of(tmp_path, text)
    (planned,) = plan.jobs()
    assert plan.datasets == (planned.name,) == ("SHAPES",), "as rows name it, not the path"
    assert planned.dataset is not None
    asked = Job.make("classify", planned.dataset, "gmt", folds=2, seeds=2, options=OPTIONS)
    assert planned.runs == asked.runs
    assert len(replace(plan, folds=None).jobs()[0].folds) == 10

    rows = run_jobs([asked], RunStore(tmp_path / "runs"), Alone())
    stored = list(RunStore(tmp_path / "runs"))
    (cell,) = plan.asked(Recorded([*stored, *stored])).cells
    assert cell.rows == stored == rows
    assert (cell.label, cell.method, cell.dataset, cell.asked) == ("gmt", "gmt", "SHAPES", 4)
    assert (cell.left_out, cell.changed) == (0, False)


def test_options_of_an_own_set_are_found_by_its_path(tmp_path: Path) -> None:
    write_set(tmp_path / "own")
    text = 'datasets = ["own"]\nmethods = ["mean"]\n[dataset_options.own]\nepochs = 3\n'
    assert plan_of(tmp_path, text).jobs()[0].train.epochs == 3


def test_jobs_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gmpool.tasks.graph_task.load", None)
    folds = {
        name: 10 if entry.kind == "tu" else 1 for name, entry in CATALOGUE.items() if entry.outputs
    }
    names = json.dumps(list(folds))
    jobs = plan_of(tmp_path, f'datasets = {names}\nmethods = ["gmt"]').jobs()
    assert {job.name: len(job.runs) for job in jobs} == folds


def test_a_set_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ZINC has no labels to train on"):
        plan_of(tmp_path, 'datasets = ["MUTAG", "ZINC"]\nmethods = ["gmt"]')


@pytest.mark.parametrize("name", shipped_plans())
def test_every_shipped_plan(name: str) -> None:
    plan = read_plan(name)
    assert plan.name == name
    assert plan.title != name
    jobs = plan.jobs()
    assert len(jobs) == len(plan.lines) * len(plan.datasets)
    settings = [(job.name, job.task.name, json.dumps(job.settings)) for job in jobs]
    assert len(set(settings)) == len(settings), "no two lines are the same"


def test_which_plans_are_shipped() -> None:
    assert shipped_plans() == [
        "ablation", "ablation-beyond", "cpu", "gln", "leaderboard", "molgan", "quick", "synthetic",
        "table1", "validation", "validation-authors", "variants", "zinc",
    ]  # fmt: skip
    root = Path(__file__).parents[2]
    assert (root / "plans").resolve() == root / "gmpool" / "plans"


def test_table_1_and_its_validation_share_their_runs() -> None:
    table, validation = read_plan("table1"), read_plan("validation")
    authors = read_plan("validation-authors")
    runs = [run for job in table.jobs() for run in job.runs]
    for other in (validation, authors):
        assert [run for job in other.jobs() for run in job.runs] == runs
    assert len(runs) == len({run.key for run in runs}) == 14 * 10 * (6 * 10 + 4)
    assert tuple(line.method for line in table.lines) == PAPER_METHODS
    assert table.header == {"paper": "test"}
    assert validation.header == {"paper": "valid", "part": "valid"}
    assert authors.header == {"paper": "valid", "part": "best-valid"}


def test_the_ablation_is_of_what_the_paper_calls_so() -> None:
    plan = read_plan("ablation")
    assert [line.label for line in plan.lines] == [
        "GMT", "without message passing", "without graph attention", "without self-attention",
        "mean pooling",
    ]  # fmt: skip
    assert plan.jobs()[0].runs == read_plan("ablation-beyond").jobs()[0].runs


def test_variants_stand_beside_the_lines_of_table_1() -> None:
    plan, table = read_plan("variants"), read_plan("table1")
    plain = {run.key for job in plan.jobs() if not job.changed for run in job.runs}
    assert plain < {run.key for job in table.jobs() for run in job.runs}
    assert sum(job.changed for job in plan.jobs()) == len(plan.jobs()) / 2


ERRORS = {
    "unknown dataset": (
        broken("MUTAG", "MUTAGG"), ("unknown dataset 'MUTAGG'", "did you mean 'MUTAG'?")
    ),
    "missing file": (broken("MUTAG", "own/t.csv"), ("own/t.csv", "no such file")),
    "unknown method": (
        broken("gmt", "gtm"),
        ("line 'gtm' on MUTAG", "unknown method 'gtm'", "did you mean 'gmt'?"),
    ),
    "unknown option": (
        broken(more="[options]\nhiden_dim = 8"),
        ("line 'mean' on MUTAG", "unknown option 'hiden_dim'", "did you mean 'hidden_dim'?"),
    ),
    "option of another method": (
        broken(more="[dataset_options.MUTAG]\nnum_heads = 2"),
        ("line 'mean' on MUTAG", "unknown option 'num_heads'"),
    ),
    "option of the wrong type": (
        broken(more='[[line]]\nlabel = "x"\nmethod = "gmt"\noptions = { epochs = "many" }'),
        ("line 'x' on MUTAG", "option epochs takes a whole number, got 'many'"),
    ),
    "pool without a name": (
        broken(more='[options]\npool = "gin"'), ("option pool takes a table", "got 'gin'")
    ),
    "options of a set that is not there": (
        broken(more="[dataset_options.DD]\nepochs = 2"),
        ("unknown set in dataset_options 'DD'", "(known: MUTAG, ogbg-molbbbp)"),
    ),
    "more folds than there are": (
        broken(more="folds = 11"), ("no set has more than 10 folds", "fewer than folds = 11")
    ),
    "folds of a set that has none": (
        broken('"MUTAG", ', "", more="folds = 2"), ("each set has one split", "leave folds out")
    ),
    "same label twice": (
        broken(more='[[line]]\nmethod = "gmt"'),
        ("labels of lines: 'gmt' is there 2 times", "name it differently"),
    ),
    "same set twice": (
        broken("ogbg-molbbbp", "MUTAG"), ("datasets: 'MUTAG' is there 2 times", "leave one out")
    ),
    "no set": ('methods = ["gmt"]', ("the plan has no set", 'datasets = ["MUTAG"]')),
    "no line": ('datasets = ["MUTAG"]', ("the plan has no line", 'methods = ["gmt"]')),
    "empty file": ("", ("the plan has no set",)),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS.values(), ids=list(ERRORS))
def test_a_mistake_names_the_file_the_place_and_the_way_out(case: Mistake, tmp_path: Path) -> None:
    assert_refused(tmp_path, *case)


def test_two_own_sets_of_one_name(tmp_path: Path) -> None:
    write_set(tmp_path / "a")
    write_set(tmp_path / "b")
    with pytest.raises(UserError, match="datasets: 'SHAPES' is there 2 times"):
        plan_of(tmp_path, 'datasets = ["a", "b"]\nmethods = ["gmt"]')


def test_own_data_without_labels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("smiles,toxic\nCC,0\nCO,1\n")
    with pytest.raises(UserError, match=r"my-plan\.toml: t has no folds to train on"):
        plan_of(tmp_path, 'datasets = ["t.csv"]\nmethods = ["gmt"]')


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown plan 'tabel1'; did you mean 'table1'.*\.toml"):
        read_plan("tabel1")
    with pytest.raises(UserError, match=r"nowhere\.toml cannot be read: No such file"):
        read_plan(tmp_path / "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"binary\.toml: not TOML"):
        read_plan(tmp_path / "binary.toml")


def test_several_values_of_an_option_are_a_line_each(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'task = "reconstruct"\ndatasets = ["ring", "ZINC"]\nmethods = ["gmt"]\n'
        'ratios = [0.1, 0.5]\nobjectives = ["x", "a"]\n'
        '[[line]]\nlabel = "half"\nmethod = "mincut"\noptions = { ratio = 0.5 }\n',
    )
    assert [line.label for line in plan.lines] == [
        "gmt 10% min x", "gmt 10% min a", "gmt 50% min x", "gmt 50% min a",
        "half min x", "half min a",
    ]  # fmt: skip
    jobs = plan.jobs()
    assert {job.task.name for job in jobs} == {"reconstruct"}
    assert [(job.model.ratio, job.model.objective) for job in jobs[::2]] == [
        (0.1, "x"), (0.1, "a"), (0.5, "x"), (0.5, "a"), (0.5, "x"), (0.5, "a")
    ]  # fmt: skip
    assert [(job.name, len(job.runs)) for job in jobs[:2]] == [("ring", 1), ("ZINC", 1)]
    assert [job.train.epochs for job in jobs[:2]] == [10_000, 500], "one graph, and many"


def test_a_method_may_be_of_another_task_of_the_family(tmp_path: Path) -> None:
    jobs = plan_of(tmp_path, 'datasets = ["MUTAG"]\nmethods = ["gmt", "wl-svm"]\n').jobs()
    assert [(job.task.name, job.task.family) for job in jobs] == [
        ("classify", "classify"), ("wl-kernel", "classify")
    ]  # fmt: skip


def test_a_part_of_a_plan(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, f'{SMALL}[[line]]\nlabel = "deep"\nmethod = "gmt"\n')
    part = plan.part(["MUTAG"], ["gmt"], 3)
    assert (part.datasets, part.seeds) == (("MUTAG",), 3)
    assert [line.label for line in part.lines] == ["gmt", "deep"], "by method or by label"
    assert [line.label for line in plan.part([], ["deep"]).lines] == ["deep"]
    assert plan.part([], []) == plan
    for given, said in (
        ((["DD"], []), "--dataset: unknown dataset of the plan 'DD'"),
        (([], ["mincut"]), "--method: unknown method of the plan 'mincut'"),
        (([], [], 0), "--seeds must be at least 1, got 0"),
    ):
        with pytest.raises(UserError, match=said):
            plan.part(*given)
