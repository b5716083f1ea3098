"""Members beside one model."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchmarks import members
from benchmarks.whole_commands import Took
from gmpool.errors import DataError


def test_members_beside_one_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[object]] = []
    monkeypatch.setattr(members, "run", lambda words: (commands.append(words), Took(3, 4))[1])
    lines = [f"{'C' * n}{end},{n}.5" for n in range(1, 11) for end in "CON"]
    with gzip.open(tmp_path / members.FILE, "wt") as file:
        file.write("\n".join(["smiles,y", *lines]))
    rows = list(members.measure(tmp_path, rounds=1, members=2, epochs=1))
    assert [row["name"] for row in rows] == [
        "esol: 2 members vs one model, one thread",
        "esol: 2 members vs one model, all threads",
        "gmpool train esol.csv.gz: 2 members vs one model",
    ]
    assert all(row["ours"] > 0 and row["peer"] > 0 for row in rows)
    assert [("--members" in words, words[3]) for words in commands] == [
        (False, "train"), (True, "train"),
    ]  # fmt: skip


def test_a_missing_table_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "find", lambda *_: None)
    with pytest.raises(DataError, match=r"no esol.csv.gz"):
        next(members.measure(tmp_path))
