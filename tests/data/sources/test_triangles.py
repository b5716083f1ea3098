from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gmpool.data import CATALOGUE
from gmpool.data.sources.triangles import read_triangles
from gmpool.errors import DataError


@pytest.mark.data
def test_packed_collab_is_quick_and_small(data_root: Path) -> None:
    script = (
        "import pathlib, re, sys, time\n"
        "from gmpool.data.sources.triangles import read_triangles\n"
        "start = time.perf_counter()\n"
        "graphs = read_triangles(sys.argv[1], 'COLLAB')\n"
        "seconds = time.perf_counter() - start\n"
        # Not ru_maxrss, which a new process inherits from the one that started it.
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "peak = int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) / 2**20\n"
        "print(seconds, peak, len(graphs), graphs.num_nodes, graphs.num_edges, graphs.digest)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(data_root / "COLLAB_packed.npz")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    seconds, peak, count, nodes, edges, digest = done.stdout.split()
    assert float(seconds) < 10
    assert float(peak) < 1.0  # GiB
    assert (count, nodes, edges) == ("5000", "372474", "24572158")
    assert digest == CATALOGUE["COLLAB"].content


def test_damaged_triangles(tmp_path: Path) -> None:
    good = {"num_nodes": np.array([3, 2]), "y": np.array([0, 1])}
    bits = np.packbits(np.array([1, 0, 1, 1], dtype=np.uint8))
    np.savez(tmp_path / "good.npz", **good, adj_bits=bits)
    graphs = read_triangles(tmp_path / "good.npz", "T").validate()
    assert graphs.batch([0, 1]).edge_index.tolist() == [[1, 0, 2, 1, 4, 3], [0, 1, 1, 2, 3, 4]]
    np.savez(tmp_path / "bad.npz", **good, adj_bits=np.zeros(9, np.uint8))
    with pytest.raises(DataError, match="adj_bits does not fit num_nodes"):
        read_triangles(tmp_path / "bad.npz", "T")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match=r"text\.npz: not a readable file of packed triangles"):
        read_triangles(tmp_path / "text.npz", "T")
    for changed in (
        {"y": np.array([0, -1])},
        {"y": np.array([0, 10**12])},
        {"y": np.array([0])},
        {"num_nodes": np.array([3, -2])},
        {"num_nodes": np.array([2**62, 2])},
        {"num_nodes": np.array([[3, 2]])},
        {"num_nodes": np.array(["a", "b"])},
        {"adj_bits": bits.astype(np.int64)},
    ):
        np.savez(tmp_path / "bad.npz", **(good | {"adj_bits": bits} | changed))
        with pytest.raises(DataError, match=r"bad\.npz: "):
            read_triangles(tmp_path / "bad.npz", "T")
