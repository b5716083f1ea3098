"""What the interface of a task means where a task, such as tests/helpers/toy_task.py, is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_task import TOY, ToyConfig

from gmpool.errors import UserError
from gmpool.tasks.task import TASKS, Task, task_of


def test_tasks_are_found_where_they_lie() -> None:
    assert {"classify", "reconstruct", "wl-kernel", "toy"} <= set(TASKS)
    for name in TASKS:
        assert TASKS[name].name == name
        assert TASKS[name].methods()
    with pytest.raises(UserError, match="unknown task 'clasify'; did you mean 'classify'"):
        TASKS["clasify"]


def test_a_method_tells_the_task_of_a_family() -> None:
    assert task_of("classify", "wl-svm") is TASKS["wl-kernel"]
    assert task_of("wl-kernel", "gmt") is TASKS["classify"]
    assert task_of("reconstruct", "gmt") is TASKS["reconstruct"]
    with pytest.raises(UserError, match="unknown method 'wide'"):
        task_of("classify", "wide")


def test_families_share_no_verb() -> None:
    verbs = [TASKS[name].verb for name in TASKS if TASKS[name].verb]
    assert len(verbs) == len(set(verbs))


def test_the_card_of_an_open_set() -> None:
    points = TOY.open("circle")
    found = TOY.card_of(points)
    assert (found.name, found.digest, found.graphs) == ("circle", points.digest, 40)
    assert found.split_digests == tuple(split.digest for split in TOY.splits(points))


def test_what_a_task_need_not_say() -> None:
    points, bare = TOY.open("circle"), Task()
    assert TOY.card("circle") is None
    assert TOY.label(ToyConfig(method="narrow")) == "narrow"
    assert (TOY.options("wide"), TOY.about("wide"), dict(TOY.presets)) == ({}, "", {})
    assert TOY.fit(points, TOY.splits(points)[0], ToyConfig()) is None
    assert TOY.size(points) == 1.0
    assert TOY.complete([], Path()) == []
    bare.name = "bare"  # type: ignore[misc]
    assert bare.cannot_stack(points, ToyConfig()) == "bare has no batches of fixed shape"
    assert bare.finish(None, points, TOY.splits(points)[0], "cpu") == {}


def test_what_cannot_be_asked_of_it_says_so() -> None:
    with pytest.raises(UserError, match="models of toy cannot be saved"):
        TOY.rebuild({}, {})
    with pytest.raises(UserError, match="a model of toy makes no predictions"):
        TOY.predict(None, "circle", None)
    for ask in (
        lambda: Task().open("x"),
        lambda: Task().methods(),
        lambda: Task().splits(None),
        lambda: Task().build(None, None),
        lambda: Task().metric(None, None),
    ):
        with pytest.raises(NotImplementedError):
            ask()
