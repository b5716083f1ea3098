"""What the file of a plan may say."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan_texts import Mistake, assert_refused, broken

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
        broken(more="seeds = true"), ("seeds takes a whole number from 1 to 100,000, got True",)
    ),
    "number of too many digits": (
        broken(more=f"seeds = {'9' * 5000}"), ("not TOML", "4300 digits")
    ),
    "more seeds than the memory holds": (
        broken(more="seeds = 100000000000"), ("a whole number from 1 to 100,000, got 100000000000",)
    ),
    "seed beyond 64 bits": (
        broken(more="first_seed = 18446744073709551616"), ("from 0 to 2^63 - 1",)
    ),
    "seeds that end beyond 64 bits": (
        broken(more="first_seed = 9223372036854775807\nseeds = 2"), ("take a smaller first seed",)
    ),
    "nesting without an end": (
        broken(more=f"title = {'[' * 5000}{']' * 5000}"), ("its values lie too deep",)
    ),
    "a long value": (broken(more=f'seeds = "{"x" * 5000}"'), ("seeds takes", "got 'xxx", "x…")),
    "a long name": (broken("gmt", "x" * 20_000), ("line 'xxx", "unknown method 'xxx", "x…")),
    "a long key": (broken(more=f"{'x' * 20_000} = 1"), ("unknown key 'xxx",)),
    "a long label twice": (
        broken(more=f'[[line]]\nmethod = "gmt"\nlabel = "{"x" * 9000}"\n' * 2), ("2 times",)
    ),
    "a task that is no text": (broken(more='task = ["classify"]'), ("task takes a text",)),
    "a file that is no plan": (broken(more="#" * 1_000_001), ("more than 1,000,000 bytes",)),
    "column of a table that nobody knows": (
        broken(more="[table]\nlable = 'y'"), ("[table]", "unknown key 'lable'", "mean 'label'?")
    ),
    "column of the wrong type": (
        broken(more="[table]\nlabel = ['y', 1]"),
        ("[table]: label takes a text in quotes, or a list, got ['y', 1]",)
    ),
    "column of one table of the wrong type": (
        broken(more="[dataset_tables.'t.csv']\nskip_bad_rows = 'yes'"),
        ("[dataset_tables.'t.csv']: skip_bad_rows takes true or false, got 'yes'",)
    ),
    "tables not by set": (
        broken(more="[dataset_tables]\nlabel = 'y'"), ("dataset_tables takes one table per set",)
    ),
    "no seed": (broken(more="seeds = 0"), ("seeds takes a whole number from 1 to 100,000, got 0",)),
    "negative seed": (
        broken(more="first_seed = -1"), ("first_seed takes a whole number from 0 to", "got -1")
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
        broken(more='part = "train"'), ("part takes one of test, valid, best-valid, got 'train'",)
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
def test_a_mistake_names_the_file_the_place_and_the_way_out(case: Mistake, tmp_path: Path) -> None:
    assert_refused(tmp_path, *case)
