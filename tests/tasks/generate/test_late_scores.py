"""Scores that are made later, where RDKit is installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from few_molecules import OPTIONS, few_molecules

from gmpool.engine.executors.executor import Alone
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import CheckpointError, DataError, UserError
from gmpool.record import Row
from gmpool.tasks.generate import late_scores
from gmpool.tasks.generate import task as task_module
from gmpool.tasks.generate import watch as watch_module
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.late_scores import FILE, with_scores
from gmpool.tasks.task import TASKS

GENERATE = TASKS["generate"]


def run(folder: Path, **options: Any) -> list[Row]:
    job = Job.make("generate", few_molecules(), "mean", seeds=2, options={**OPTIONS, **options})
    return run_jobs([job], RunStore(folder), Alone())


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Rows of a machine without RDKit, on a set that has a name."""
    with monkeypatch.context() as patch:
        for module in (task_module, watch_module):
            patch.setattr(module, "find_spec", lambda name: None)
        return run(tmp_path / "bare", epochs=3)


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_scores, "CATALOGUE", {"few": None})
    monkeypatch.setattr(type(GENERATE), "open", lambda self, name: few_molecules())


@pytest.mark.usefixtures("named")
def test_scores_at_once_or_later_are_the_same(
    bare: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = run(tmp_path / "chemists", epochs=3)
    later = GENERATE.complete(bare, tmp_path)
    for mine, theirs in zip(later, at_once, strict=True):
        assert mine.key == theirs.key
        assert mine.more["generated"] == theirs.more["generated"]
        assert mine.more["selection_score"] == theirs.more["selection_score"]
    written = (tmp_path / FILE).read_text()
    assert [json.loads(line)["key"] for line in written.splitlines()] == [r.key for r in bare]

    def never(*_: object) -> None:
        raise AssertionError("scores are made once")

    monkeypatch.setattr(late_scores, "said_of", never)
    assert GENERATE.complete(bare, tmp_path) == later
    assert GENERATE.complete(at_once, tmp_path) == at_once, "which have them already"
    assert (tmp_path / FILE).read_text() == written


@pytest.mark.usefixtures("named")
def test_runs_without_a_valid_molecule_are_scored_too(
    bare: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of their scores are not defined, which JSON has no number for."""
    empty = few_molecules().rows[:1].mul(0).numpy()
    monkeypatch.setattr(late_scores, "unpack_draws", lambda *_: empty)
    for row in GENERATE.complete(bare, tmp_path):
        assert row.more["generated"]["strict"] == [0.0, 0.0, 0.0]
        assert row.more["generated"]["unique"] == [None, None, None]
    for line in (tmp_path / FILE).read_text().splitlines():
        assert "NaN" not in line


@pytest.mark.usefixtures("named")
def test_scores_of_another_task_in_the_same_store_are_none_of_ours(
    bare: list[Row], tmp_path: Path
) -> None:
    from gmpool.tasks.reconstruct.late_scores import FILE as OTHER

    assert OTHER != FILE, "whose lines have other parts"
    (tmp_path / FILE).write_text(json.dumps({"key": bare[0].key, "scores": {}}) + "\n")
    for row in GENERATE.complete(bare, tmp_path):
        assert len(row.more["generated"]["strict"]) == 3


def test_where_there_is_no_rdkit_rows_stay_as_they_are(
    bare: list[Row], named: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_scores, "find_spec", lambda name: None)
    assert GENERATE.complete(bare, tmp_path) == bare
    assert not (tmp_path / FILE).exists()


def test_own_tables_are_left_as_they_are(bare: list[Row], tmp_path: Path) -> None:
    def never(name: str) -> SmallMolecules:
        raise AssertionError("where the table lies is not known")

    assert with_scores(bare, tmp_path, never) == bare
    assert not (tmp_path / FILE).exists()


def test_a_set_that_is_not_at_hand_is_named(
    bare: list[Row], named: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def absent(name: str) -> SmallMolecules:
        raise UserError(f"{name}.csv.gz is nowhere")

    assert with_scores(bare, tmp_path, absent) == bare
    assert "few is not at hand, so that runs on it are not scored: few.csv.gz is n" in caplog.text


@pytest.mark.usefixtures("named")
def test_rows_on_other_data_of_the_same_name_are_left_as_they_are(
    bare: list[Row], tmp_path: Path
) -> None:
    others = [replace(row, data_digest="another") for row in bare]
    assert GENERATE.complete(others, tmp_path) == others


DAMAGED = {
    "no base64": ({"packed": ["no base64!"] * 3}, "recorded molecules, .*cannot be read"),
    "cut off": ({"packed": ["eJw="] * 3}, "recorded molecules, .*cannot be read: .*run it again"),
    "a number": ({"packed": [7, 8, 9]}, r"cannot be read: expected text \(got int\)"),
    "nothing": ({"packed": [], "iteration": []}, "has drawn is no molecules of few"),
    "too few": ({"packed": ["eJw="]}, "has drawn is no molecules of few"),
    "no list": ({"iteration": 5}, "has drawn cannot be read: TypeError"),
    "another alphabet": (
        {"alphabet": {"places": 3, "elements": ["C", "N"], "bonds": ["SINGLE"]}},
        "has drawn is no molecules of few",
    ),
    "no alphabet": ({"alphabet": None}, "shape must be an object"),
}


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("which", DAMAGED)
def test_damaged_rows_are_told(which: str, bare: list[Row], tmp_path: Path) -> None:
    changes, said = DAMAGED[which]
    row = replace(bare[0], more={"drawn": {**bare[0].more["drawn"], **changes}})
    with pytest.raises((DataError, CheckpointError), match=said):
        GENERATE.complete([row], tmp_path)
    assert not (tmp_path / FILE).exists()


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("part", ["iteration", "packed", "alphabet"])
def test_a_part_that_is_missing_is_named(part: str, bare: list[Row], tmp_path: Path) -> None:
    drawn = {name: value for name, value in bare[0].more["drawn"].items() if name != part}
    row = replace(bare[0], more={"drawn": drawn})
    with pytest.raises(DataError, match=f"run {row.key} has drawn cannot be read: .*'{part}'"):
        GENERATE.complete([row], tmp_path)
