"""How many replicas a CPU takes at once."""

from __future__ import annotations

from dataclasses import replace

from small_sets import MODEL, QUICK, classes, split
from toy_task import TOY, ToyConfig, ToyTrainConfig
from trainings import as_set, task_for

from gmpool.engine.stack.members import Member
from gmpool.engine.stack.size import CPU_ROWS, largest_stack


def test_a_stack_on_a_cpu_is_bounded_by_its_rows() -> None:
    """Of graphs these are nodes."""
    data, task = as_set(classes()), task_for(MODEL)
    members = [Member(split(), MODEL, QUICK, seed) for seed in range(5)]
    assert largest_stack(task, data, members, "cpu") == 5
    for rows_wanted, size in ((CPU_ROWS / 2, 2), (CPU_ROWS * 3, 1)):
        batch = int(rows_wanted / data.graphs.mean_nodes)
        large = [m._replace(train=replace(QUICK, batch_size=batch)) for m in members]
        assert largest_stack(task, data, large, "cpu") == size


def test_an_example_of_a_task_that_says_nothing_is_one_row() -> None:
    points = TOY.open("circle")
    part, config = TOY.splits(points)[0], ToyTrainConfig(batch_size=CPU_ROWS // 3)
    members = [Member(part, ToyConfig(), config, seed) for seed in range(5)]
    assert largest_stack(TOY, points, members, "cpu") == 3
