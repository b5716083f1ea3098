"""The commands for reconstructions: reconstruct, run and table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from said import Said
from small_sets import TEN_MOLECULES

from gmpool.engine.plan import read_plan
from gmpool.engine.store import RunStore
from gmpool.errors import UserError

SHORT = ("-o", "epochs=3", "-o", "hidden_dim=8", "--device", "cpu")
PLAN = """
title = "small"
task = "reconstruct"
seeds = 2
datasets = ["ring"]
methods = ["gmt"]
ratios = [0.1, 0.25]
objectives = ["x", "a"]
options = { epochs = 2, hidden_dim = 8 }

[[line]]
method = "topk"
options = { objective = "x" }
"""


def test_a_ring_is_rebuilt_and_drawn(gmpool_cli: Callable[..., Said], tmp_path: Path) -> None:
    words = ("reconstruct", "ring", "-p", "n=12", "-m", "gmt", "-m", "topk", *SHORT)
    said = gmpool_cli(*words, "--out", tmp_path / "ring")
    assert said.code == 0, said.err
    assert "ring(n=12): errors" in said.out
    assert "TopKPool" in said.out
    rows = list(RunStore(tmp_path / "ring"))
    assert [row["method"] for row in rows] == ["gmt", "topk"]
    assert (tmp_path / "ring" / "clouds.png").read_bytes().startswith(b"\x89PNG")
    again = gmpool_cli(*words, "--out", tmp_path / "ring", "--json")
    assert again.err.count("recorded before") == 2
    found = json.loads(again.out)
    assert {one["metric"] for one in found} == {"error_x", "error_a"}


def test_a_users_own_molecules(gmpool_cli: Callable[..., Said], tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    table.write_text("id,structure\n" + "".join(f"{i},{s}\n" for i, s in enumerate(TEN_MOLECULES)))
    said = gmpool_cli(
        "reconstruct", table, "--ratio", 0.2, "--ratio", 0.5, "--smiles-column", "structure",
        "--out", tmp_path / "own", "--seeds", 2, "--replicas", "auto", *SHORT,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "validity (%)" in said.out
    for name in ("curves-own.png", "molecules-own.png"):
        assert (tmp_path / "own" / name).is_file()
    shown = gmpool_cli("table", tmp_path / "own", "--format", "markdown")
    assert "own: accuracy of atom types (%)" in shown.out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("rign",), "unknown graph 'rign'"),
        (("ring", "-m", "mean"), "unknown method that reconstructs 'mean'"),
        (("ring", "-m", "topk", "--objective", "a"), "topk has nothing to learn of objective a"),
        (("ring", "--objective", "b"), "unknown objective 'b'"),
        (("ring", "--ratio", "0"), "ratio must lie in (0, 1], got 0.0"),
        (("ring", "-o", "ratio=0.5"), "give ratio as --ratio 0.5"),
        (("ring", "-p", "n"), "--parameter takes KEY=VALUE, got 'n'"),
        (("ring", "-p", "m=3"), "unknown parameter of ring 'm'"),
        (("ring", "--seeds", "0"), "seeds must be at least 1, got 0"),
        (("ring", "--smiles-column", "s"), "smiles_column is for a table"),
    ],
)
def test_a_mistake_is_one_line(
    gmpool_cli: Callable[..., Said], tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    said = gmpool_cli("reconstruct", *words, "--device", "cpu", "--out", tmp_path)
    assert said.code == 2
    assert text in said.err
    assert "Traceback" not in said.err


def test_a_plan_of_reconstructions(
    gmpool_cli: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(PLAN)
    plan = read_plan("mine.toml")
    assert [line.label for line in plan.lines] == [
        "gmt 10% min x", "gmt 10% min a", "gmt 25% min x", "gmt 25% min a", "topk 10%", "topk 25%"
    ]  # fmt: skip
    said = gmpool_cli("run", "mine.toml", "--device", "cpu", "--replicas", "auto", "--keep-models")
    assert said.code == 0, said.err
    assert "12 of 12 runs are recorded" in said.err
    assert all(len(cell.recorded(RunStore(Path("runs")))) == 2 for cell in plan.cells())
    again = gmpool_cli("run", "mine.toml", "--device", "cpu", "--json")
    assert json.loads(again.out)["to_do"] == 0
    table = gmpool_cli("table", "mine.toml", "--plots", "plots", "--format", "csv")
    assert len(table.out.splitlines()) == 1 + 2 * 6
    assert Path("plots/clouds.png").is_file()
    page = gmpool_cli("table", "mine.toml", "--out", "table.html")
    assert page.code == 0, page.err
    assert "data:image/png;base64," in Path("table.html").read_text(encoding="utf-8")


def test_keys_of_the_other_task_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('datasets = ["MUTAG"]\nmethods = ["gmt"]\nratios = [0.5]\n')
    with pytest.raises(UserError, match="ratios is for task = 'reconstruct'"):
        read_plan(path)
    path.write_text(PLAN.replace("seeds = 2", "folds = 2"))
    with pytest.raises(UserError, match="folds is for task = 'classify'"):
        read_plan(path)
    path.write_text(PLAN.replace("[0.1, 0.25]", "[0.1, 2.5]"))
    with pytest.raises(UserError, match="ratios takes a list of shares"):
        read_plan(path)


def test_the_shipped_plans_are_the_papers() -> None:
    zinc = read_plan("zinc")
    assert sum(cell.runs for cell in zinc.cells()) == 6 * 4 * 5
    synthetic = {(cell.line.label, cell.dataset) for cell in read_plan("synthetic").cells()}
    assert ("mincut without normalisation min a", "ring") in synthetic
    assert ("topk", "grid") in synthetic


def test_models_of_classifiers_are_kept_elsewhere(gmpool_cli: Callable[..., Said]) -> None:
    said = gmpool_cli("run", "quick", "--keep-models", "--device", "cpu")
    assert said.code == 2
    assert "gmpool train --save-model" in said.err
