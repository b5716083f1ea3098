"""What the file of a plan may say."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan_texts import broken, plan_of

from gmpool.errors import UserError

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
    "title of the wrong type": (broken(more="title = 1"), ("title takes a text", "got 1")),
    "methods not in a list": (
        broken('["mean", "gmt"]', '"gmt"'), ("methods takes a list of names", "got 'gmt'")
    ),
    "unknown paper table": (
        broken(more='paper = "tset"'),
        ("paper takes one of test, valid, ablation, leaderboard, got 'tset'",)
    ),
    "unknown part": (
        broken(more='part = "train"'), ("part takes one of test, valid, got 'train'",)
    ),
    "not TOML": ("datasets = [MUTAG]", ("not TOML", "line 1, column")),
    "unknown task": (
        broken(more='task = "clasify"'), ("unknown task 'clasify'", "did you mean 'classify'?")
    ),
    "key of another task": (
        broken(more="ratios = [0.5]"),
        ("ratios is for task = 'reconstruct', and this is 'classify'",)
    ),
    "share that is none": (
        'task = "reconstruct"\ndatasets = ["ring"]\nratios = [1.5]',
        ("ratios takes a list of shares",)
    ),
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
