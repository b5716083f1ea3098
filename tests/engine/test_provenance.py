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
