"""A method in one file of another package, named by an entry point, keeps the whole contract."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract import LAWS
from documented import undocumented, unheard_of
from other_package import an_entry_point

from gmpool.pool import METHODS, method_options

NAME = "degree-sum"
FILE = '''
"""Nodes count by their degree."""

from torch import Tensor

from gmpool.graph.edges import AnyEdges
from gmpool.ops.segment import Segments, segment_sum
from gmpool.pool.method import GraphSizes, Method
from gmpool.pool.method import Pooled


class DegreeSum(Method):
    """Degree sum: the sum of the nodes, each by a power of its degree. [N, D] -> [B, D]

    power: 0 is a plain sum.
    """

    architecture = "global"
    reads = frozenset({"plain"})

    def __init__(
        self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None, power: float = 0.5
    ) -> None:
        super().__init__()
        self.power, self.out_dim = power, in_dim

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        degree = 1 + edges.plain.matmul(x.new_ones(len(x), 1))  # [N, 1]
        return Pooled(segment_sum(x * degree**self.power, segments))
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file and what a distribution says of it, for as long as this module is tested."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "their_pooling.py").write_text(FILE, encoding="utf-8")
    an_entry_point(folder, "gmpool.methods", f"{NAME} = their_pooling:DegreeSum")
    known = list(METHODS)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(METHODS, "_items", dict(METHODS._items))
        patch.setattr(METHODS, "_looked", False)
        assert list(METHODS) == sorted([*known, NAME])
        yield folder
    assert NAME not in METHODS


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("law", LAWS)
def test_it_keeps_the_law(law: str) -> None:
    LAWS[law](NAME)


@pytest.mark.usefixtures("installed")
def test_its_options_are_options() -> None:
    assert method_options(NAME) == {"power": 0.5}
    assert (undocumented(METHODS[NAME]), unheard_of(METHODS[NAME])) == (set(), set())


def test_a_new_process_knows_it(installed: Path) -> None:
    code = f"from gmpool.pool import METHODS; print(METHODS[{NAME!r}](4, 4, power=2.0))"
    path = os.pathsep.join([str(installed), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "DegreeSum(in_dim=4, hidden_dim=4, power=2.0)"
