"""The parts of a stacked program: batches to come, the best weights, and what a driver can do."""

from __future__ import annotations

import ctypes

import pytest
import torch

from gmpool.engine.stack import program
from gmpool.engine.stack.program import Best, Feed

NAN = float("nan")


def test_a_feed_goes_round_and_can_be_followed_by_more() -> None:
    ids = torch.arange(12).view(2, 3, 2)
    feed = Feed(ids.clone(), None, torch.device("cpu"))
    given = [feed.next() for _ in range(4)]
    assert [torch.equal(g, ids[:, t]) for g, t in zip(given, (0, 1, 2, 0), strict=True)] == [
        True
    ] * 4
    place = feed.ids.data_ptr()
    feed.follow(ids + 100)
    assert torch.equal(feed.next(), ids[:, 0] + 100)
    assert feed.ids.data_ptr() == place, "a captured program reads where it always has"


def test_the_best_is_strictly_better_and_of_those_who_run() -> None:
    best = Best.none_yet(torch.tensor([True] * 4), [torch.zeros(4, 2)])
    everybody = torch.tensor([True] * 4)
    first = best.offer(torch.tensor([1.0, NAN, 3.0, 4.0]).double(), [torch.ones(4, 2)], everybody)
    assert first.tolist() == [True] * 4, "whatever comes first"
    again = best.offer(
        torch.tensor([1.0, NAN, 4.0, 5.0]).double(),
        [2 * torch.ones(4, 2)],
        torch.tensor([True, True, True, False]),
    )
    assert again.tolist() == [False, False, True, False]
    assert best.weights[0][:, 0].tolist() == [1, 1, 2, 1]
    defined = best.offer(
        torch.tensor([0.0, -9.0, 0.0, 0.0]).double(), [torch.ones(4, 2)], everybody
    )
    assert defined.tolist() == [False, True, False, False], "what is not defined loses"
    taken = best.take([7 * torch.ones(4, 2)], torch.tensor([True, False, False, False]))
    assert taken.tolist() == [True, False, False, False]
    assert best.weights[0][:, 0].tolist() == [7, 1, 2, 1]
    kept = best.keep(torch.tensor([2, 0]))
    assert kept.weights[0][:, 0].tolist() == [2, 7]
    assert kept.score.tolist() == [4.0, 1.0]


@pytest.mark.parametrize(("built_for", "driver", "may"), [
    ("13.0", 13000, True), ("12.6", 12030, True), ("12.6", 12020, False), (None, 13000, False)
])  # fmt: skip
def test_which_drivers_load_a_kernel_during_a_capture(
    built_for: str | None, driver: int, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Library:
        def __init__(self, name: str) -> None:
            assert name == "libcuda.so.1"

        def cuDriverGetVersion(self, version: ctypes._CArgObject) -> None:
            ctypes.cast(version, ctypes.POINTER(ctypes.c_int))[0] = driver

    monkeypatch.setattr(torch.version, "cuda", built_for)
    monkeypatch.setattr(program.ctypes, "CDLL", Library)
    monkeypatch.setattr(program.sys, "platform", "linux")
    assert program.loads_while_capturing.__wrapped__() is may
