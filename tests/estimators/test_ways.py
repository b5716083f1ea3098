"""Where members are trained, in how many processes, and whose turn it is."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.processes import Processes
from gmpool.engine.executors.stacked import Stacked
from gmpool.errors import UserError, WrongType
from gmpool.estimators import ways
from gmpool.estimators.ways import at_once, device_of, executor_for


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "usable_cores", lambda: 4)


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("given", ["cpu", "cpu:0", torch.device("cpu"), torch.device("cpu", 0)])
def test_the_cpu_has_one_name(given: Any) -> None:
    assert device_of(given) == "cpu"


def test_auto_takes_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, name in ((False, "cpu"), (True, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert device_of("auto") == name


@pytest.mark.parametrize("given", ["tpu", "meta", "", torch.device("meta")])
def test_devices_that_nobody_knows(given: Any) -> None:
    with pytest.raises(UserError, match=f"^device takes cpu, cuda or auto, got '{given}'$"):
        device_of(given)
    with pytest.raises(UserError, match=r"device=cuda:99: this machine has .* use device=cpu"):
        device_of("cuda:99")


@pytest.mark.parametrize("given", [None, 0, ["cpu"]])
def test_devices_that_are_no_name(given: Any) -> None:
    with pytest.raises(WrongType, match=r"^device takes cpu, cuda or auto, got "):
        device_of(given)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("n_jobs", "members", "workers"),
    [
        (None, 5, 1), (1, 5, 1), (2, 5, 2), (np.int64(2), 5, 2), (np.uint8(3), 5, 3), (-1, 5, 4),
        (np.int32(-1), 5, 4), (-2, 5, 3), (-4, 5, 1), (-9, 5, 1), (8, 5, 5), (-1, 3, 3), (-1, 1, 1),
    ],
)  # fmt: skip
def test_processes_as_scikit_learn_counts_them(n_jobs: Any, members: int, workers: int) -> None:
    expected = Alone("cpu") if workers == 1 else Processes(workers)
    assert executor_for("cpu", members, n_jobs) == expected


@pytest.mark.parametrize("n_jobs", [0, True, False, np.bool_(True), 1.0, "2", [2], np.int64(0)])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_is_no_number_of_processes(n_jobs: Any, device: str) -> None:
    with pytest.raises(
        UserError, match=r"^n_jobs is a number of processes, or -1 for .*, got "
    ) as e:
        executor_for(device, 5, n_jobs)
    assert str(e.value).endswith(repr(n_jobs))


def test_a_gpu_trains_members_as_one() -> None:
    assert executor_for("cuda:1", 5, 8) == Stacked("cuda:1")


@pytest.mark.usefixtures("four_cores")
def test_a_worker_process_has_no_workers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    assert executor_for("cpu", 5, 4) == Alone("cpu")
    with pytest.raises(UserError, match="n_jobs"):
        executor_for("cpu", 5, 0)


@pytest.mark.usefixtures("three_threads")
def test_members_have_one_thread_and_who_is_alone_has_all() -> None:
    for alone, threads in ((False, 1), (True, 3)):
        with at_once(alone=alone):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("three_threads")
def test_an_error_gives_threads_and_the_turn_back() -> None:
    with pytest.raises(KeyboardInterrupt), at_once(alone=False):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == 3
    with at_once(alone=False):  # which would wait for ever
        pass


@pytest.mark.usefixtures("three_threads")
def test_threads_take_turns() -> None:
    inside: list[int] = []
    most: list[int] = []

    def fit(alone: bool) -> None:
        with at_once(alone=alone):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.01)
            inside.pop()

    threads = [threading.Thread(target=fit, args=(bool(n % 2),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == [1] * 4
    assert torch.get_num_threads() == 3
