"""`gmpool list`"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gmpool.data import CATALOGUE
from gmpool.engine.plan import shipped_plans
from gmpool.pool import METHODS
from gmpool.tasks.classify.settings import AUTHORS
from gmpool.tasks.task import TASKS

Cli = Callable[..., Any]


def rows_of(gmpool_cli: Cli, what: str) -> list[dict[str, Any]]:
    said = gmpool_cli("list", what, "--json")
    assert said.code == 0, said.err
    found: list[dict[str, Any]] = json.loads(said.out)
    return found


def test_datasets(gmpool_cli: Cli) -> None:
    assert {row["name"]: row["graphs"] for row in rows_of(gmpool_cli, "datasets")} == {
        name: entry.graphs for name, entry in CATALOGUE.items()
    }
    shown = gmpool_cli("list", "datasets").out
    assert all(name in shown for name in CATALOGUE)


def test_methods(gmpool_cli: Cli) -> None:
    rows = rows_of(gmpool_cli, "methods")
    by_task = {task: [r["name"] for r in rows if r["task"] == task] for task in TASKS}
    assert by_task["classify"] == list(METHODS)
    assert by_task["wl-kernel"] == ["wl-svm"]
    assert {task: list(TASKS[task].methods()) for task in TASKS} == by_task
    ours = ("classify", "reconstruct", "wl-kernel")  # other tests register tasks as well
    assert all(row["about"] for row in rows if row["task"] in ours)
    gmt = next(row for row in rows if row["name"] == "gmt" and row["task"] == "classify")
    assert gmt["options"]["num_heads"] == 1
    shown = gmpool_cli("list", "methods").out
    assert all(name in shown for name in METHODS)
    assert "num_heads=1" in shown


def test_options(gmpool_cli: Cli) -> None:
    rows = {(row["task"], row["option"]): row for row in rows_of(gmpool_cli, "options")}
    assert rows["classify", "epochs"]["default"] == 500
    assert rows["reconstruct", "lr"]["default"] == 0.005
    assert rows["reconstruct", "warmup_epochs"]["about"].startswith("The learning rate rises")
    assert ("classify", "hidden_dim") in rows
    assert ("classify", "pool") not in rows
    assert "patience" in gmpool_cli("list", "options").out


def test_tasks(gmpool_cli: Cli) -> None:
    rows = {row["name"]: row for row in rows_of(gmpool_cli, "tasks")}
    assert list(rows) == list(TASKS)
    assert rows["classify"]["command"] == "train"
    assert rows["wl-kernel"]["command"] == ""
    assert all(row["about"] for row in rows.values())


def test_presets(gmpool_cli: Cli) -> None:
    rows = rows_of(gmpool_cli, "presets")
    assert {r["dataset"]: r["settings"] for r in rows if r["task"] == "classify"} == AUTHORS
    assert "num_heads=4, layer_norm=True" in gmpool_cli("list", "presets").out


def test_plans(gmpool_cli: Cli) -> None:
    found = {row["name"]: row for row in rows_of(gmpool_cli, "plans")}
    assert list(found) == shipped_plans()
    assert found["ablation"]["runs"] == 5 * (100 + 100 + 10)
    assert (found["quick"]["lines"], found["quick"]["datasets"]) == (2, 1)
    assert found["table1"]["about"] in gmpool_cli("list", "plans").out


def test_what_cannot_be_listed(gmpool_cli: Cli) -> None:
    said = gmpool_cli("list", "nothing")
    assert (said.code, said.out) == (2, "")
    assert "'datasets'" in said.err
