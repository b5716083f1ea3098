"""Plans as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gmpool.engine.plan import Plan, read_plan
from gmpool.errors import UserError

Mistake = tuple[str, tuple[str, ...]]
"""The text of a plan, and the words that its error must have."""
SMALL = 'datasets = ["MUTAG", "ogbg-molbbbp"]\nmethods = ["mean", "gmt"]\n'


def plan_of(folder: Path, text: str) -> Plan:
    path = folder / "my-plan.toml"
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


def broken(replaced: str = "", by: str = "", more: str = "") -> str:
    return SMALL.replace(replaced, by) + more


def assert_refused(folder: Path, text: str, words: tuple[str, ...]) -> None:
    """The plan is an error that names its file and has the words."""
    with pytest.raises(UserError) as error:
        plan_of(folder, text)
    for word in (str(folder / "my-plan.toml"), *words):
        assert word in str(error.value)
    assert len(str(error.value)) < 1500, "a value is not repeated at length"
