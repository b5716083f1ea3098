"""Plans, and the rows of run stores."""

from __future__ import annotations

import json
import random
import shutil
import tomllib
from pathlib import Path
from typing import Any

from gmpool.engine.plan import read_plan
from gmpool.engine.store import RunStore
from tests.campaign.inputs.batches import Inputs, accepted, claim, materials
from tests.campaign.materials import PLAN
from tests.campaign.mutate import damaged_bytes, damaged_json, damaged_lines, word

REBUILD_PLAN = """
title = "Rings"
task = "reconstruct"
seeds = 1
datasets = ["ring", "grid"]
methods = ["gmt", "mincut"]
ratios = [0.25, 0.5]
objectives = ["x", "a"]
options = { epochs = 2 }

[dataset_options.ring]
hidden_dim = 8
"""
NAMED = """
seeds = 3
first_seed = 1
datasets = ["MUTAG", "ogbg-molbbbp"]
methods = ["mean", "gmt", "gin"]
"""
PIECES = (
    "9" * 5000, "[" * 2000, "{ a = " * 500, "1e400", "nan", "-1", "0", "1979-05-27",
    '"' + "x" * 300 + '"',
    '"/dev/null"', '""', "[[]]", "[1, 'a']", "true", '"\\u0000"', '"gmt"', "100000000000", "0.5",
    "datasets = []", "[[line]]", "[options]", "methods = 3", 'paper = "table1"',
    "task = 'classify'",
    "label_columns = ['toxic']", "[data.own]", 'label = "toxic"',
    "seeds = 100000000000", "first_seed = 99999999999999999999", "title = 1", "'''", "#", "é",
)  # fmt: skip


def as_toml(value: Any) -> str:
    """Tables inside of tables are written in one line, which is all the same to a reader."""
    if not isinstance(value, dict):
        return f"what = {_one_line(value)}"
    return "".join(f"{json.dumps(key)} = {_one_line(each)}\n" for key, each in value.items())


def _one_line(value: Any) -> str:
    if isinstance(value, dict):
        parts = (f"{json.dumps(key)} = {_one_line(each)}" for key, each in value.items())
        return "{ " + ", ".join(parts) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_one_line, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.1f}" if abs(value) < 1e15 else repr(value)
    return '""' if value is None else json.dumps(value).replace("NaN", "nan").replace("Inf", "inf")


def make_plan(rng: random.Random, folder: Path) -> None:
    text = rng.choice((PLAN, PLAN, REBUILD_PLAN, NAMED))

    def piece() -> str:
        return rng.choice(PIECES) if rng.random() < 0.7 else word(rng)

    way = rng.random()
    if way < 0.6:
        try:
            raw = as_toml(damaged_json(rng, tomllib.loads(text))).encode(errors="replace")
        except RecursionError:  # so deep that it cannot be written this way
            raw = b"deep = " + b"[" * 3000
    elif way < 0.9:
        raw = damaged_lines(rng, text, piece).encode(errors="replace")
    else:
        raw = damaged_bytes(rng, text.encode())
    (folder / "plan.toml").write_bytes(raw)
    shutil.copy(materials() / "molecules.csv", folder)


def attempt_plan(rng: random.Random, folder: Path) -> None:
    plan = read_plan("plan.toml")
    claim(bool(plan.jobs()), "a plan of nothing")
    accepted("run", "plan.toml", "--dry-run", *rng.choice(([], ["--json"])))
    if rng.random() < 0.3:
        accepted("table", "plan.toml", "--store", materials() / "old", "--out", rng.choice(OUTS))


OUTS = ("t.md", "t.csv", "t.html", "t.tex", "t.json")


def make_rows(rng: random.Random, folder: Path) -> None:
    store = folder / "store"
    store.mkdir()
    lines = (materials() / rng.choice(("old", "stale")) / "rows.jsonl").read_text().splitlines()
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                raw = lines[at].encode(errors="surrogateescape")
                lines[at] = damaged_bytes(rng, raw).decode(errors="surrogateescape")
            case 1:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case 2:
                lines[at] = word(rng)
            case _:
                try:
                    lines[at] = json.dumps(damaged_json(rng, json.loads(lines[at])))
                except (ValueError, RecursionError):
                    lines[at] += "#torn"
    ending = rng.choice(("\n", "\n", ""))
    raw = ("\n".join(lines) + ending).encode(errors="surrogateescape")
    (store / "rows.jsonl").write_bytes(raw)
    for name in ("molecules.csv", "plan.toml"):
        shutil.copy(materials() / name, folder)


def attempt_rows(rng: random.Random, folder: Path) -> None:
    rows = len(list(RunStore("store")))
    match rng.randrange(5):
        case 0:
            accepted("table", "store", *rng.choice(([], ["--json"], ["--out", rng.choice(OUTS)])))
        case 1:
            accepted("run", "plan.toml", "--dry-run", "--store", "store")
        case 2:
            out = rng.choice(OUTS)
            plots = ["--plots", "p"] if rng.random() < 0.2 else []
            accepted("table", "plan.toml", "--store", "store", "--out", out, *plots)
        case 3:
            accepted("store", "rekey", "store")
            claim(len(list(RunStore("store"))) == rows, "rows are lost")
            before = Path("store/rows.jsonl").read_bytes()
            accepted("store", "rekey", "store")
            claim(Path("store/rows.jsonl").read_bytes() == before, "keys do not stay")
        case _:
            accepted("table", "store/rows.jsonl", "--format", rng.choice(("latex", "csv", "html")))


PLANS = Inputs("plan", make_plan, attempt_plan)
ROWS = Inputs("rows", make_rows, attempt_rows)
