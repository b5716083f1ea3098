"""What a copy of a checkout says it is a copy of."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import gmpool


def test_a_copy_names_the_commit_it_is_a_copy_of(tmp_path: Path) -> None:
    shutil.copytree(Path(gmpool.__file__).parent, tmp_path / "gmpool")
    script = "from gmpool.engine.provenance import commit; print(commit())"

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert said() == "None"
    (tmp_path / "COMMIT").write_text("0123456789ab\n")
    assert said() == "0123456789ab"


def test_the_digest_is_that_of_the_source_that_runs(tmp_path: Path) -> None:
    """Whatever commit it says it is."""
    shutil.copytree(Path(gmpool.__file__).parent, tmp_path / "gmpool")
    script = "from gmpool.engine.provenance import source_digest; print(source_digest())"

    def said() -> str:
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    first = said()
    assert len(first) == 16
    (tmp_path / "gmpool" / "plans" / "more.toml").write_text("")
    assert said() == first, "of the code alone"
    with (tmp_path / "gmpool" / "ops" / "choice.py").open("a") as file:
        file.write("# another line\n")
    assert said() != first
