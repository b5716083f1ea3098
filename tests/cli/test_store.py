"""`gmpool store rekey`: recorded rows outlive a change of how keys are made."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
import two_lines
from two_lines import RUN, Cli, rows

from gmpool.engine.checkpoint import rename_run
from gmpool.engine.claims import Claims

in_tmp_path = two_lines.in_tmp_path
SIDE = Path("runs/molecule-scores.jsonl")


def files() -> dict[str, bytes]:
    """All that lies in the store."""
    found = sorted(path for path in Path("runs").rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if path.suffix != ".lock"}


@pytest.fixture
def as_it_should_be(gmpool_cli: Cli) -> dict[str, bytes]:
    """Four runs with a model of each, and a file by key of three of them and of a foreign one."""
    assert gmpool_cli(*RUN, "--method", "mean", "--keep-models").code == 0
    keys = [row["key"] for row in rows()][:3]
    lines = [{"key": key, "scores": {"validity": 1.5}} for key in [*keys, "of nobody here"]]
    SIDE.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    return files()


@pytest.fixture
def with_old_keys(as_it_should_be: dict[str, bytes]) -> dict[str, bytes]:
    """The same, but three of the runs have keys of another version."""
    old = {row["key"]: f"old-{number}" for number, row in enumerate(rows()[1:])}
    for path in (Path("runs/rows.jsonl"), SIDE):
        text = path.read_text()
        for key, name in old.items():
            text = text.replace(f'"key": "{key}"', f'"key": "{name}"')
        path.write_text(text)
    for key, name in old.items():
        (Path("runs/models") / key).rename(Path("runs/models") / name)
    assert files() != as_it_should_be
    return files()


def test_rows_side_files_and_models_get_their_keys(
    as_it_should_be: dict[str, bytes], with_old_keys: dict[str, bytes], gmpool_cli: Cli
) -> None:
    assert sum(row["key"].startswith("old-") for row in rows()) == 3
    said = gmpool_cli("store", "rekey", "runs")
    assert (said.code, said.out) == (0, "")
    assert "runs: 3 of 4 rows get another key" in said.err
    assert files() == as_it_should_be
    again = gmpool_cli(*RUN, "--method", "mean", "--keep-models")
    assert again.err.count("recorded before") == 4, "nothing is done again"


def test_the_second_time_nothing_changes(with_old_keys: dict[str, bytes], gmpool_cli: Cli) -> None:
    assert gmpool_cli("store", "rekey", "runs").code == 0
    before = {path: Path(path).stat().st_mtime_ns for path in files()}
    said = gmpool_cli("store", "rekey", "runs")
    assert said.code == 0
    assert "runs: 0 of 4 rows get another key" in said.err
    assert {path: Path(path).stat().st_mtime_ns for path in files()} == before


def test_a_dry_run_changes_nothing(with_old_keys: dict[str, bytes], gmpool_cli: Cli) -> None:
    said = gmpool_cli("store", "rekey", "runs", "--dry-run")
    assert said.code == 0
    assert "runs: 3 of 4 rows get another key" in said.err
    assert files() == with_old_keys


def test_who_is_stopped_in_between_goes_on(
    as_it_should_be: dict[str, bytes],
    with_old_keys: dict[str, bytes],
    gmpool_cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(import_module("gmpool.cli.store"), "write_atomically", stopped)
        assert gmpool_cli("store", "rekey", "runs").code == 130
    assert files() != as_it_should_be
    assert gmpool_cli("store", "rekey", "runs").code == 0
    assert files() == as_it_should_be


def test_several_stores(with_old_keys: dict[str, bytes], gmpool_cli: Cli) -> None:
    Path("other").mkdir()
    Path("other/rows.jsonl").write_bytes(Path("runs/rows.jsonl").read_bytes())
    said = gmpool_cli("store", "rekey", "runs", "other")
    assert said.code == 0
    assert "other: 3 of 4 rows get another key" in said.err
    assert Path("other/rows.jsonl").read_bytes() == Path("runs/rows.jsonl").read_bytes()


def test_a_folder_that_is_no_store(gmpool_cli: Cli) -> None:
    said = gmpool_cli("store", "rekey", "nowhere")
    assert (said.code, said.out) == (2, "")
    assert "nowhere/rows.jsonl holds no rows; give the folder of a run store" in said.err


def test_a_file_beside_the_rows_that_is_not_by_key_is_named_and_nothing_changes(
    with_old_keys: dict[str, bytes], gmpool_cli: Cli
) -> None:
    SIDE.write_text('{"name": "a benchmark"}\n{"name": "another"}\n')
    before = files()
    said = gmpool_cli("store", "rekey", "runs")
    assert said.code == 2
    assert "molecule-scores.jsonl:1: not a row" in said.err
    assert files() == before


def test_kept_models_say_their_new_key(
    as_it_should_be: dict[str, bytes], with_old_keys: dict[str, bytes], gmpool_cli: Cli
) -> None:
    """Also when somebody was stopped after a folder got its name and before its model did."""
    named = Path("runs/models/old-0")
    rename_run(named, "old-0")
    assert gmpool_cli("store", "rekey", "runs").code == 0
    assert files() == as_it_should_be


def test_nobody_else_may_be_at_work(with_old_keys: dict[str, bytes], gmpool_cli: Cli) -> None:
    with Claims(Path("runs")) as claims:
        claims.take("k")
        said = gmpool_cli("store", "rekey", "runs")
    assert said.code == 2
    assert "a process is at work in runs; wait until it has ended" in said.err
    assert files() == with_old_keys
