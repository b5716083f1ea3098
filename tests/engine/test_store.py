"""Rows by key; tests/test_journal.py has what happens to the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_rows import row

from gmpool.atomic_files import replacing
from gmpool.engine.store import RunStore
from gmpool.errors import StoreError


def test_what_is_recorded_is_found_again(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "deep" / "runs")
    assert store.finished() == {}
    rows = [row(key="a"), row(key="b", test=None, note="ünï\n", scores={"error_x": 0.5})]
    for one in rows:
        store.record(one)
    assert RunStore(str(store.folder)).finished() == {"a": rows[0], "b": rows[1]}
    assert list(store) == rows
    assert [json.loads(line)["key"] for line in store.path.read_text().splitlines()] == ["a", "b"]


def test_of_two_rows_with_one_key_the_first_counts(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.record(row(key="a", test=1.0))
    store.journal.append(row(key="a", test=2.0).to_json())
    assert store.finished()["a"].test == 1.0
    assert len(list(store)) == 2


def test_a_run_that_another_process_has_recorded_is_not_recorded_again(tmp_path: Path) -> None:
    store, other = RunStore(tmp_path), RunStore(tmp_path)
    assert store.finished() == {}
    assert other.record(row(key="a", test=1.0))
    assert not store.record(row(key="a", test=2.0))
    assert [(one.key, one.test) for one in store] == [("a", 1.0)]


def test_a_file_that_takes_the_place_of_another_is_read_from_its_beginning(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    for key in "ab":
        store.record(row(key=key))
    assert list(store.finished()) == ["a", "b"]
    text = store.path.read_bytes()
    with replacing(store.path) as (new,):
        new.write_bytes(text.replace(b'"a"', b'"c"') + text.replace(b'"b"', b'"d"'))
    assert list(store.finished()) == ["c", "b", "a", "d"]
    store.path.write_bytes(text[: text.index(b"\n") + 1])
    assert list(store.finished()) == ["a"]


def test_a_store_may_be_given_as_its_file(tmp_path: Path) -> None:
    RunStore(tmp_path, "other.jsonl").record(row(key="a"))
    assert list(RunStore.at(tmp_path / "other.jsonl").finished()) == ["a"]
    assert RunStore.at(tmp_path).path == tmp_path / "rows.jsonl"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": "one"}, "seed must be a whole number"),
        ({"config": {"model": {}}}, "config.train must be an object"),
        ({"test": "high"}, "test must be a number or null"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, change: dict, said: str) -> None:
    store = RunStore(tmp_path)
    store.record(row(key="a"))
    store.journal.append({**row(key="b").to_json(), **change})
    with pytest.raises(StoreError, match=rf"rows\.jsonl:2: not a row \({said}.*remove that line"):
        store.finished()
