from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from own_set import write_set
from small_sets import OPTIONS

from gmpool.config import ModelConfig, TrainConfig, published_settings
from gmpool.data import CATALOGUE
from gmpool.engine.cross_validate import Job, cross_validate
from gmpool.engine.plan import Plan, read_plan, shipped_plans
from gmpool.engine.store import RunStore
from gmpool.errors import UserError

PAPER_METHODS = (
    "mean", "gin", "set2set", "sortpool", "diffpool", "sagpool-global", "sagpool", "topk",
    "mincut", "structpool", "asap", "edgepool", "haarpool", "gmt",
)  # fmt: skip
QUICK = "[options]\n" + "".join(f"{key} = {value}\n" for key, value in OPTIONS.items())


def plan_of(folder: Path, text: str) -> Plan:
    path = folder / "my-plan.toml"
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


SMALL = 'datasets = ["MUTAG", "ogbg-molbbbp"]\nmethods = ["mean", "gmt"]\n'


def test_a_short_plan_and_its_defaults(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SMALL)
    assert (plan.name, plan.title, plan.paper, plan.part) == ("my-plan", "my-plan", None, "test")
    assert (plan.seeds, plan.first_seed, plan.folds) == (1, 42, None)
    cells = plan.cells()
    assert [(c.line.label, c.line.method, c.dataset) for c in cells] == [
        ("mean", "mean", "MUTAG"), ("mean", "mean", "ogbg-molbbbp"),
        ("gmt", "gmt", "MUTAG"), ("gmt", "gmt", "ogbg-molbbbp"),
    ]  # fmt: skip
    assert [(cell.seeds, cell.folds, cell.runs) for cell in cells[:2]] == [
        ((42,), 10, 10), ((42,), 1, 1),
    ]  # fmt: skip
    assert cells[2].model == ModelConfig(pool={"num_heads": 4, "layer_norm": True})
    assert cells[2].train == TrainConfig()
    assert cells[3].train.lr == published_settings("ogbg-molbbbp", "gmt")["lr"] == 1e-3


def test_all_that_a_plan_can_say(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        'title = "Mine"\npaper = "ablation"\npart = "valid"\nseeds = 3\nfirst_seed = 7\nfolds = 2\n'
        + SMALL
        + '[[line]]\nlabel = "deep"\nmethod = "gmt"\noptions = { num_layers = 5 }\n'
        + '[[line]]\nmethod = "gmt"\nlabel = "GIN"\noptions = { conv = "gin", pool.conv = "gin" }\n'
        + '[options]\npatience = "none"\n[dataset_options.MUTAG]\nepochs = 9\n',
    )
    assert (plan.title, plan.paper, plan.part, plan.folds) == ("Mine", "ablation", "valid", 2)
    assert [line.label for line in plan.lines] == ["mean", "gmt", "deep", "GIN"]
    cells = plan.cells()
    assert {cell.seeds for cell in cells} == {(7, 8, 9)}
    assert [cell.folds for cell in cells[:2]] == [2, 1], "a set with fewer folds has all of its own"
    assert [cell.model.num_layers for cell in cells] == [3, 3, 3, 3, 5, 5, 3, 3]
    assert [cell.train.epochs for cell in cells[:2]] == [9, 500]
    assert {cell.train.patience for cell in cells} == {None}
    assert (cells[-1].model.conv, cells[-1].model.pool["conv"]) == ("gin", "gin")


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
        assert plan_of(tmp_path, given).cells()[0].model.pool["num_heads"] == heads
        nearest = given.replace("options = {}", "options = { pool.num_heads = 2 }")
        assert plan_of(tmp_path, nearest).cells()[0].model.pool["num_heads"] == 2


def test_a_cell_is_the_job_that_gmpool_train_does(tmp_path: Path) -> None:
    write_set(tmp_path / "own")
    text = f'datasets = ["own"]\nmethods = ["gmt"]\nseeds = 2\nfolds = 2\n{QUICK}'
    plan = plan_of(tmp_path, text)
    (cell,) = plan.cells()
    assert plan.datasets == (cell.dataset,) == ("SHAPES",), "as rows name it, not the path"
    assert cell.own is not None
    asked = Job.make(cell.own, "gmt", folds=2, seeds=2, options=OPTIONS)
    assert cell.job(cell.own).specs() == asked.specs()
    assert replace(plan, folds=None).cells()[0].folds == 10

    rows = cross_validate(asked, RunStore(tmp_path / "runs"))
    stored = list(RunStore(tmp_path / "runs"))
    assert cell.recorded([*stored, *stored]) == stored == json.loads(json.dumps(rows))
    others = {
        "seed": 44, "fold": 3, "task": "cluster", "dataset": "MUTAG", "data_digest": "other",
        "split_digest": "other",
        "config": {**rows[0]["config"], "train": {**rows[0]["config"]["train"], "lr": 1.0}},
    }  # fmt: skip
    for key, value in others.items():
        assert not cell.recorded([{**rows[0], key: value}]), key


def test_options_of_an_own_set_are_found_by_its_path(tmp_path: Path) -> None:
    write_set(tmp_path / "own")
    text = 'datasets = ["own"]\nmethods = ["mean"]\n[dataset_options.own]\nepochs = 3\n'
    assert plan_of(tmp_path, text).cells()[0].train.epochs == 3


def test_cells_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gmpool.engine.plan.load", None)
    folds = {
        name: 10 if entry.kind == "tu" else 1 for name, entry in CATALOGUE.items() if entry.outputs
    }
    names = json.dumps(list(folds))
    cells = plan_of(tmp_path, f'datasets = {names}\nmethods = ["gmt"]').cells()
    assert {cell.dataset: cell.folds for cell in cells} == folds


def test_a_set_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ZINC has no labels to train on"):
        plan_of(tmp_path, 'datasets = ["MUTAG", "ZINC"]\nmethods = ["gmt"]')


@pytest.mark.parametrize("name", shipped_plans())
def test_every_shipped_plan(name: str) -> None:
    plan = read_plan(name)
    assert plan.name == name
    assert plan.title != name
    cells = plan.cells()
    assert len(cells) == len(plan.lines) * len(plan.datasets)
    settings = [(cell.dataset, json.dumps([vars(cell.model), vars(cell.train)])) for cell in cells]
    assert len(set(settings)) == len(settings), "no two lines are the same"


def test_which_plans_are_shipped() -> None:
    assert shipped_plans() == [
        "ablation", "ablation-beyond", "cpu", "leaderboard", "quick", "synthetic", "table1",
        "validation", "zinc",
    ]  # fmt: skip
    root = Path(__file__).parents[2]
    assert (root / "plans").resolve() == root / "gmpool" / "plans"


def test_table_1_and_its_validation_share_their_runs() -> None:
    table, validation = read_plan("table1"), read_plan("validation")
    assert table.cells() == validation.cells()
    assert sum(cell.runs for cell in table.cells()) == 14 * 10 * (6 * 10 + 4)
    assert tuple(line.method for line in table.lines) == PAPER_METHODS
    assert (table.paper, table.part) == ("test", "test")
    assert (validation.paper, validation.part) == ("valid", "valid")


def test_the_ablation_is_of_what_the_paper_calls_so() -> None:
    plan = read_plan("ablation")
    assert [line.label for line in plan.lines] == [
        "GMT", "without message passing", "without graph attention", "without self-attention",
        "mean pooling",
    ]  # fmt: skip
    assert plan.cells()[0] == read_plan("ablation-beyond").cells()[0]


def broken(replaced: str = "", by: str = "", more: str = "") -> str:
    return SMALL.replace(replaced, by) + more


ERRORS = {
    "unknown key": (
        broken(more="sedes = 3"), ("unknown key 'sedes'", "did you mean 'seeds'?"),
    ),
    "unknown key of a line": (
        broken(more='[[line]]\nmethod = "gmt"\nname = "x"'),
        ("[[line]] number 1", "unknown key 'name'", "label, method, options"),
    ),
    "line without a method": (
        broken(more='[[line]]\nlabel = "x"'), ("[[line]] number 1 has no method", 'method = "gmt"')
    ),
    "one heading for a line": (
        broken(more='[line]\nmethod = "gmt"'), ("line takes tables", "[[line]]", "'gmt'")
    ),
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
    "options not by set": (
        broken(more="[dataset_options]\nepochs = 2"),
        ("dataset_options takes one table", "[dataset_options.NAME]"),
    ),
    "seeds of the wrong type": (
        broken(more="seeds = true"), ("seeds takes a whole number from 1, got True",)
    ),
    "no seed": (broken(more="seeds = 0"), ("seeds takes a whole number from 1, got 0",)),
    "negative seed": (
        broken(more="first_seed = -1"), ("first_seed takes a whole number from 0, got -1",)
    ),
    "more folds than there are": (broken(more="folds = 11"), ("1 … 10", "got 11")),
    "title of the wrong type": (broken(more="title = 1"), ("title takes a text", "got 1")),
    "methods not in a list": (
        broken('["mean", "gmt"]', '"gmt"'), ("methods takes a list of names", "got 'gmt'")
    ),
    "unknown paper table": (
        broken(more='paper = "tset"'), ("unknown paper 'tset'", "did you mean 'test'?")
    ),
    "unknown part": (
        broken(more='part = "train"'), ("unknown part 'train'", "(known: test, valid)")
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
    "not TOML": ("datasets = [MUTAG]", ("not TOML", "line 1, column")),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS.values(), ids=list(ERRORS))
def test_a_mistake_names_the_file_the_place_and_the_way_out(
    case: tuple[str, tuple[str, ...]], tmp_path: Path
) -> None:
    text, words = case
    with pytest.raises(UserError) as error:
        plan_of(tmp_path, text)
    for word in (str(tmp_path / "my-plan.toml"), *words):
        assert word in str(error.value)


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
