"""Workers and the script that asks for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

ASKS = """
    import multiprocessing
    print("begins")
    from gmpool import GraphRegressor
    smiles = ["C" * n + end for n in range(1, 9) for end in "CON"]
    options = {"members": 2, "epochs": 1, "n_jobs": 2, "random_state": 0, "hidden_dim": 8}
"""
FITS = """
    model = GraphRegressor(**options).fit(smiles, [float(len(s)) for s in smiles])
    print(len(model.predict(smiles)), "values")
"""
OWN = """
    from gmpool.pool import METHODS
    from gmpool.pool.mean import MeanPool
    @METHODS.register("own")
    class Own(MeanPool):
        "Its own."
    options["method"] = "own"
"""


def run(folder: Path, *parts: str) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text("".join(map(dedent, parts)))
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def guarded(part: str) -> str:
    return 'if __name__ == "__main__":\n' + indent(dedent(part), "    ")


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    done = run(tmp_path, ASKS, FITS)
    assert (done.returncode, done.stdout) == (0, "begins\n24 values\n"), done.stderr


def test_what_a_script_registers_is_known_to_workers(tmp_path: Path) -> None:
    done = run(tmp_path, ASKS, OWN, guarded(FITS))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "24 values"), done.stderr


def test_without_a_guard_it_is_told_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, ASKS, OWN, FITS)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert 'below `if __name__ == "__main__":`' in said, done.stderr
