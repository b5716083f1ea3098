"""Work by several processes: the same as alone, in its order, and nobody is left behind."""

from __future__ import annotations

import multiprocessing
import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gmpool.errors import UserError
from gmpool.tasks import crew
from gmpool.tasks.crew import Crew, in_order


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others help from the second thing on."""
    monkeypatch.setattr(crew, "PATIENCE", 0.0)


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    threads = threading.active_count()
    yield
    assert multiprocessing.active_children() == []
    assert threading.active_count() == threads


def until_ready(things: list[Any]) -> Iterator[Any]:
    """The things, of which the third waits until a worker can have it."""
    yield from things[:2]
    (worker,) = multiprocessing.active_children()
    deadline = time.monotonic() + 60
    while not any(made.is_ready for made in _crews) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert worker.is_alive()
    yield from things[2:]


_crews: list[Crew[Any, Any]] = []


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, at_once: None) -> None:
    _crews.clear()
    begin = Crew.begin
    monkeypatch.setattr(Crew, "begin", lambda self: (_crews.append(self), begin(self))[1])


class Here:
    """Does it, says where, and where it is not this process takes its time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.parent, self.seconds = os.getpid(), seconds

    def __call__(self, thing: int) -> tuple[int, bool, int]:
        mine = os.getpid() == self.parent
        time.sleep(0.0 if mine else self.seconds)
        return thing * thing, mine, torch.get_num_threads()


@pytest.mark.usefixtures("known")
def test_both_work_and_what_they_make_comes_in_order() -> None:
    things = list(range(30))
    found = list(in_order(Here(0.002), until_ready(things), 2))
    assert [made for made, _, _ in found] == [thing * thing for thing in things]
    assert {mine for _, mine, _ in found} == {True, False}
    assert {threads for _, _, threads in found} == {1}


def test_what_is_done_soon_needs_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Crew, "begin", lambda self: pytest.fail("nobody is needed"))
    assert list(in_order(operator.neg, range(50), 8)) == [-each for each in range(50)]


def test_alone_it_has_one_thread_too_and_gives_the_others_back() -> None:
    torch.set_num_threads(3)
    try:
        found = in_order(Here(), range(2), 1)
        assert next(found) == (0, True, 1)
        found.close()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(1)


class Threads(Crew[Any, Any]):
    """Has threads instead of processes, so that there can be many."""

    def begin(self) -> None:
        self._ready.set()
        for _ in range(self.size):
            thread = threading.Thread(target=self._work)
            self._processes.append(Ended())
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            thing, future = asked
            try:
                future.set_result(pickle.loads(pickle.dumps(self._do(thing))))
            except Exception as error:
                future.set_exception(error)


class Ended:
    def terminate(self) -> None: ...

    def join(self) -> None: ...


def late_or_bad(thing: tuple[int, bool]) -> int:
    number, is_bad = thing
    if number % 3:
        time.sleep(number % 3 / 5000)
    if is_bad:
        raise UserError(f"{number} is bad")
    return number


@given(
    bad=st.lists(st.booleans(), max_size=25).map(lambda kinds: kinds + [False] * 5),
    workers=st.integers(1, 5),
    taken=st.integers(1, 30),
)
def test_it_is_a_map(bad: list[bool], workers: int, taken: int) -> None:
    """Results in order, an error when its turn comes, and who stops looking ends all of it."""
    things = list(enumerate(bad))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crew, "PATIENCE", 0.0)
        patch.setattr(crew, "Crew", Threads)
        found, error = [], None
        made = in_order(late_or_bad, things, workers)
        try:
            for each in made:
                found.append(each)
                if len(found) == taken:
                    break
        except UserError as raised:
            error = str(raised)
        made.close()
    expected = bad.index(True) if True in bad else len(bad)
    assert found == list(range(min(expected, taken)))
    assert error == (f"{expected} is bad" if True in bad and expected < taken else None)


def fail_there(kind: type[Exception], parent: int, thing: int) -> int:
    if os.getpid() != parent:
        raise kind(f"not {thing}")
    return thing


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("kind", "notes"), [(UserError, 0), (KeyError, 1)], ids=["mistake", "defect"]
)
def test_an_error_of_a_worker_is_raised_here(kind: type[Exception], notes: int) -> None:
    do = partial(fail_there, kind, os.getpid())
    with pytest.raises(kind, match="not 2") as raised:
        list(in_order(do, until_ready(list(range(30))), 2))
    said = getattr(raised.value, "__notes__", [])
    assert len(said) == notes
    assert all("in a worker process" in note and "fail_there" in note for note in said)


def slowly(thing: object) -> bool:
    time.sleep(0.05)
    return bool(thing)


@pytest.mark.usefixtures("known")
def test_a_thing_that_cannot_be_sent_is_an_error_and_no_waiting() -> None:
    things = [1, 2, *([lambda: None] * 5)]
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError), match="pickle"):
        list(in_order(slowly, until_ready(things), 2))


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("moment", ["idle", "working"])
def test_a_worker_that_was_killed_is_told_of(moment: str) -> None:
    def things() -> Iterator[int]:
        for number, each in enumerate(until_ready(list(range(60)))):
            if number == (3 if moment == "idle" else 8):
                (worker,) = multiprocessing.active_children()
                assert worker.pid is not None
                os.kill(worker.pid, signal.SIGKILL)
                worker.join()
            yield each

    seconds = 0.0 if moment == "idle" else 30.0
    begun = time.monotonic()
    with pytest.raises(UserError, match=r"a worker process ended before .* memory perhaps; go on"):
        list(in_order(Here(seconds), things(), 2))
    assert time.monotonic() - begun < 30


SCRIPT = """
import functools
from gmpool.tasks import crew
crew.PATIENCE = 0.0
print("begins")
print(sum(crew.in_order(functools.partial(pow, 2), range(40), 2)))
"""
ENDLESS = """
import functools, itertools, multiprocessing, sys, time
from gmpool.tasks import crew
crew.PATIENCE = 0.0
for _ in crew.in_order(functools.partial(pow, 2), itertools.cycle(range(9)), 2):
    for child in multiprocessing.active_children():
        print(child.pid, flush=True)
        time.sleep(60)
"""


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"begins\n{2**40 - 1}\n", "")


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_who_asked(by: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Whoever starts the tests in the background of a script has SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as asker:
        assert asker.stdout is not None
        worker = int(asker.stdout.readline())
        asker.send_signal(by)
        assert asker.wait(20) != 0
    deadline = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()
