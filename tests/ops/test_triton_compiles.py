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
    "adam": ["adam_update"],
    "add_bias": ["add_bias_forward", "add_bias_backward"],
    "bond_messages": ["bond_messages_forward", "bond_messages_backward"],
    "dense_product": ["dense_product_tiles"],
    "directed_messages": ["directed_messages_forward", "directed_messages_backward"],
    "grouped": ["grouped_collect", "grouped_spread", "grouped_match"],
    "kernel_parts": ["chunks_merge_sums"],
    "seed_attention": [
        "seed_attention_few_slots_forward",
        "seed_attention_few_slots_backward",
        "seed_attention_tiles_forward",
        "seed_attention_tiles_merge",
        "seed_attention_tiles_backward",
    ],
    "sparse": ["spmm_rows", "spmm_tiles", "spmm_long_rows"],
}


def test_kernels_compile(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "helpers" / "compile_kernels.py"
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(script.parents[2])}
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = {f"{operator} {name}" for operator, names in KERNELS.items() for name in names}
    assert set(done.stdout.splitlines()) == expected
    assert len({name for names in KERNELS.values() for name in names}) == len(expected)
