"""A million molecules: what is watched and what is checked."""

from __future__ import annotations

import csv
import gzip
import os
import sys
import time
from pathlib import Path

import pytest

from benchmarks.predict_many import check, lines_of, memory_of, watched, write_table
from gmpool.errors import UserError


def test_molecules_come_again_and_have_numbers(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "few.csv.gz", "wt") as file:
        file.write("smiles,y\nCCO,1\nCCN,0\n")
    write_table(tmp_path / "few.csv.gz", tmp_path / "many.csv", 5)
    with (tmp_path / "many.csv").open() as file:
        rows = [(row["number"], row["smiles"]) for row in csv.DictReader(file)]
    assert rows == [("0", "CCO"), ("1", "CCN"), ("2", "CCO"), ("3", "CCN"), ("4", "CCO")]
    assert lines_of(tmp_path / "many.csv") == 6


def test_processes_and_their_children_are_counted() -> None:
    size = 200 * 2**20
    script = (
        "import subprocess, sys, time\n"
        f"child = 'held = bytearray({size}); import time; time.sleep(0.8)'\n"
        "subprocess.run([sys.executable, '-c', child])\n"
    )
    seconds, most = watched([sys.executable, "-c", script])
    assert seconds > 0.8
    assert size < most < 2 * size
    assert memory_of(os.getpid()) > 0


def test_a_command_is_killed_when_its_file_is_so_large(tmp_path: Path) -> None:
    part = tmp_path / "part"
    script = f"open({str(part)!r}, 'w').write('x' * 100)\nimport time\ntime.sleep(30)"
    began = time.monotonic()
    watched([sys.executable, "-c", script], stop_at=100, part=part)
    assert time.monotonic() - began < 10
    with pytest.raises(UserError, match="ended with 3"):
        watched([sys.executable, "-c", "raise SystemExit(3)"])


ASKED = "number,smiles\n0,C\n1,CC\n2,C\n"


@pytest.mark.parametrize(
    ("made", "what"),
    [
        ("0,C,1.5,\n1,CC,2.5,\n2,C,1.5,\n", None),
        ("0,C,1.5,\n1,CC,,no molecule\n2,C,1.5,\n", None),
        ("0,C,-11.4508,\n1,CC,2.5,\n2,C,-11.4509,\n", None),
        ("0,C,1.5,\n1,CC,2.5,\n", "row 2: not the row"),
        ("0,C,1.5,\n2,C,1.5,\n1,CC,2.5,\n", "row 1: not the row"),
        ("0,C,1.5,\n1,CC,2.5,\n1,CC,2.5,\n2,C,1.5,\n", "row 2: not the row"),
        ("0,C,1.5,\n1,CC,,\n2,C,1.5,\n", "row 1: neither"),
        ("0,C,1.5,\n1,CC,2.5,\n2,C,1.6,\n", "row 2: another prediction"),
    ],
)
def test_what_is_left_out_twice_or_wrong_is_found(
    made: str, what: str | None, tmp_path: Path
) -> None:
    asked, answered = tmp_path / "asked.csv", tmp_path / "made.csv"
    asked.write_text(ASKED)
    answered.write_text("number,smiles,pred_y,problem\n" + made)
    if what is None:
        check(asked, answered)
        return
    with pytest.raises(UserError, match=what):
        check(asked, answered)
