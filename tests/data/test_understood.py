from __future__ import annotations

from dataclasses import replace

import torch
from small_sets import classes

from gmpool.data import Dataset, PackedGraphs, Split, random_split
from gmpool.data.packed_fields import Task
from gmpool.data.understood import what_was_understood


def labelled(values: list[list[float]], task: Task, *names: str) -> PackedGraphs:
    """Graphs with these labels."""
    graphs = classes(len(values))
    return replace(graphs, y=torch.tensor(values), task=task, task_names=names, class_names=())


def lines(graphs: PackedGraphs, *folds: Split) -> list[str]:
    return list(Dataset.of(graphs, folds or None).understood)


def test_classes_are_counted_and_folds_told() -> None:
    graphs = classes(30)
    counted, labels, folds = lines(graphs)
    assert counted.startswith(f"{graphs.name}: 30 graphs of ")
    counts = torch.bincount(graphs.y).tolist()
    for name, count in zip(graphs.class_names, counts, strict=True):
        assert f"{count} {name!r}" in labels
    assert folds == "folds: 10 (stratified, always the same); the first: 24 train, 3 valid, 3 test"


def test_answers_gaps_and_numbers() -> None:
    nan = float("nan")
    answers = labelled([[0.0], [1.0], [1.0], [nan], [0.0], [1.0]], "binary", "active")
    ids = torch.arange(6)
    assert (
        lines(answers, Split(ids, ids, ids))[1] == "labels: 'active' (binary: 3 yes, 2 no, 1 gap)"
    )
    numbers = labelled([[0.5, 2.0], [1.0, nan], [-1.0, nan]], "regression", "a", "b")
    told = lines(numbers, random_split(3))
    assert told[1] == "labels: 2 columns, 'a', 'b' (regression: -1 to 2, 2 gaps)"
    assert told[2] == "split: 1 train, 1 valid, 1 test"


def test_many_columns_and_classes_are_told_in_short() -> None:
    names = [f"t{i}" for i in range(12)]
    told = lines(labelled([[0.0] * 12, [1.0] * 12] * 3, "binary", *names), random_split(6))
    assert told[1] == "labels: 12 columns, 't0', …, 't11' (binary: 36 yes, 36 no)"
    many = replace(classes(30), y=torch.arange(30) % 9, class_names=tuple("abcdefghi"))
    assert "9 classes: 4 'a', 4 'b', 4 'c', 3 'd' and 5 more)" in lines(many)[1]


def test_one_class_only_is_a_warning() -> None:
    told = lines(labelled([[1.0]] * 6, "binary", "active"), random_split(6))
    assert told[-1] == "warning: 'active' has one class only: its scores will be undefined"
    assert sum(line.startswith("warning") for line in told) == 1
    one = replace(classes(6), y=torch.zeros(6, dtype=torch.int64), class_names=("x",))
    assert lines(one)[-1].startswith("warning: ")


def test_a_part_with_one_class_only_is_a_warning() -> None:
    answers = labelled([[float(i % 2)] * 2 for i in range(8)], "binary", "a", "b")
    parts = [torch.tensor(ids) for ids in ([0, 1, 2, 3], [4, 5], [6])]
    told = lines(answers, Split(*parts))
    assert told[-1] == (
        "warning: in the test part 'a', 'b' have one class only: its scores there will be undefined"
    )
    assert not any("valid part" in line for line in told)
    empty = Split(parts[0], parts[1], torch.tensor([], dtype=torch.int64))
    assert not any(line.startswith("warning") for line in lines(answers, empty))
    gaps = labelled([[float(i % 2)] for i in range(4)] + [[float("nan")]] * 2, "binary", "a")
    ids = torch.arange(4)
    assert not any("warning" in line for line in lines(gaps, Split(ids, ids, torch.tensor([4, 5]))))


def test_molecules_in_several_parts_are_a_warning() -> None:
    graphs = classes(6)
    for count, told in ((0, None), (1, "1 molecule is"), (1200, "1,200 molecules are")):
        last = what_was_understood(graphs, (random_split(6),), (), "", count)[-1]
        assert last.startswith(f"warning: {told} in several rows that lie in") == bool(told)


def test_graphs_without_labels_and_one_graph() -> None:
    bare = replace(classes(6), y=None, task=None, class_names=(), task_names=())
    assert len(lines(bare)) == 1
    one = bare.select([0])
    whole = torch.tensor([0])
    told = lines(one, Split(whole, whole, whole))
    assert told == [f"{one.name}: 1 graph with {one.num_nodes} nodes", "split: one graph for all"]
    assert lines(bare.select([])) == [f"{bare.name}: no graphs"]
