"""`gmpool bench`; what benchmarks measure is in tests/benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from said import Said

import benchmarks.loader
from gmpool.errors import UserError

Cli = Callable[..., Said]
ROWS: list[dict[str, Any]] = [
    {"name": "a", "ours": 1.25, "peer": 2.5, "ratio": 2.0, "unit": "ms"},
    {"name": "b", "ours": 3.0, "peer": None, "ratio": None, "unit": "ms"},
]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks.loader, "measure", lambda root: iter(ROWS))


def test_rows_are_shown_printed_and_recorded(
    measured: None, gmpool_cli: Cli, tmp_path: Path
) -> None:
    shown = gmpool_cli("bench", "loader")
    assert shown.code == 0, shown.err
    for word in ("1.25", "2.5", "2 ×", "–"):
        assert word in shown.out
    path = tmp_path / "new" / "rows.jsonl"
    for _ in range(2):
        said = gmpool_cli("bench", "loader", "--json", "--record", path)
        printed = json.loads(said.out)
        assert [{key: row[key] for key in ROWS[0]} for row in printed] == ROWS
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["name"] for row in kept] == ["a", "b", "a", "b"]
    assert all(row["bench"] == "loader" for row in kept)
    assert {"device", "versions", "commit"} <= kept[0].keys()


def test_an_unknown_benchmark_lists_those_in_the_folder(gmpool_cli: Cli) -> None:
    said = gmpool_cli("bench", "loadr")
    assert (said.code, said.out) == (2, "")
    assert "unknown benchmark 'loadr'; did you mean 'loader'?" in said.err
    known = said.err.partition("(known: ")[2].strip().rstrip(")").replace("\n", "").split(", ")
    folder = Path(benchmarks.loader.__file__).parent
    assert set(known) <= {path.stem for path in folder.glob("*.py")}
    assert {"epoch", "loader", "reconstruct", "stacked"} <= set(known)
    assert "timing" not in known, "what others use measures nothing"


def test_without_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = import_module("gmpool.cli.bench")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    with pytest.raises(UserError, match="run from a checkout of the repository"):
        module.bench_command()("loader")


def test_rows_that_cannot_be_written(measured: None, gmpool_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = gmpool_cli("bench", "loader", "--record", tmp_path / "file" / "rows.jsonl")
    assert said.code == 2
    assert "the rows could not be written to" in said.err
