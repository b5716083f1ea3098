"""A short campaign finds nothing; and on things that are broken it finds what is broken."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCENES = ("train-keep", "predict", "rekey")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own, with one thread, of which copies can be made."""
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_a_short_campaign(tmp_path: Path) -> None:
    scenes = [word for name in SCENES for word in ("--scene", name)]
    only = [
        "kill",
        "full-disk",
        "record",
        "together",
        "table",
        "smiles",
        "tu",
        "packed",
        "checkpoint",
        "plan",
        "rows",
        "numerics",
    ]
    words = [word for name in only for word in ("--only", name)]
    done = run(
        "tests.campaign", "--seed", 5, "--kills", 12, "--inputs", 120, "--processes", 1,
        "--failures", tmp_path / "failures", *scenes, *words,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    counts = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}
    assert all(int(counts[name][0]) > 0 for name in only), done.stdout
    assert not (tmp_path / "failures").exists()


def test_what_is_broken_is_found(tmp_path: Path) -> None:
    done = run("tests.campaign.broken", tmp_path)
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    fine = ["passed"] * 4
    assert ends.pop("nothing") == fine
    assert ends.pop("refused") == ["passed", "passed", "refused", "passed"]
    for name in ("bug", "crash", "hang", "gluttony"):
        assert ends.pop(name) == ["passed", "passed", "failed", "passed"], name
    for name in ("kill", "full-disk"):
        assert ends.pop(f"whole_file {name}") == [], name
        assert len(ends.pop(f"half_a_file {name}")) >= 1, name
    assert not ends
    kept = {path.name for path in (tmp_path / "failures").iterdir()}
    assert {"bug-1-2", "crash-1-2", "hang-1-2", "gluttony-1-2"} <= kept
    assert "KeyError: 'a bug'" in (tmp_path / "failures" / "bug-1-2" / "report.txt").read_text()
