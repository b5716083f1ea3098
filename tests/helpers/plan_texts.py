"""Plans as text."""

from __future__ import annotations

from pathlib import Path

from gmpool.engine.plan import Plan, read_plan

SMALL = 'datasets = ["MUTAG", "ogbg-molbbbp"]\nmethods = ["mean", "gmt"]\n'


def plan_of(folder: Path, text: str) -> Plan:
    path = folder / "my-plan.toml"
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


def broken(replaced: str = "", by: str = "", more: str = "") -> str:
    return SMALL.replace(replaced, by) + more
