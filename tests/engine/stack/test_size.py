"""How many replicas a CPU takes at once."""

from __future__ import annotations

from dataclasses import replace

from small_sets import MODEL, QUICK, classes, split

from gmpool.engine.stack.size import CPU_NODES, largest_stack
from gmpool.engine.stack.stack import Run


def test_a_stack_on_a_cpu_is_bounded_by_its_nodes() -> None:
    graphs = classes()
    runs = [Run(split(), MODEL, QUICK, seed) for seed in range(5)]
    assert largest_stack(graphs, runs, "cpu") == 5
    for nodes_wanted, size in ((CPU_NODES / 2, 2), (CPU_NODES * 3, 1)):
        batch = int(nodes_wanted / graphs.mean_nodes)
        large = [replace(run, train=replace(QUICK, batch_size=batch)) for run in runs]
        assert largest_stack(graphs, large, "cpu") == size
