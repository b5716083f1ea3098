"""Every kernel compiles for a GPU, tested without one: the interpreter takes more than compiles.

In a process of its own, because in this one the kernels may be interpreted.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
KERNELS = {
    "triton_adam": ["_adam"],
    "triton_add_bias": ["_forward", "_backward"],
    "triton_attention": ["_forward", "_merge"],
    "triton_attention_backward": ["_backward"],
    "triton_bonds": ["_forward", "_backward"],
    "triton_chunks": ["_merge_sums"],
    "triton_dense": ["_product"],
    "triton_few_slots": ["_forward"],
    "triton_few_slots_backward": ["_backward"],
    "triton_grouped": ["_collect", "_spread", "_match"],
    "triton_spmm": ["_rows", "_tiles", "_long"],
}


def test_kernels_compile(tmp_path: Path) -> None:
    script = Path(__file__).with_name("compile_kernels.py")
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(script.parents[2])}
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert set(done.stdout.split()) == {m + name for m, names in KERNELS.items() for name in names}
