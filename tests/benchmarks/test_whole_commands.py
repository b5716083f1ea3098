"""Whole commands are timed, and what fails says so."""

from __future__ import annotations

import sys

import pytest

from benchmarks.whole_commands import Took, gmpool, in_turns, run
from gmpool.errors import UserError


def test_time_by_the_clock_and_of_processors() -> None:
    waited = run([sys.executable, "-c", "import time; time.sleep(0.3)"])
    worked = run([sys.executable, "-c", "sum(range(9_000_000))"])
    assert waited.seconds > 0.3
    assert worked.of_processors > waited.of_processors


def test_what_fails_says_so() -> None:
    with pytest.raises(UserError, match="no module named"):
        run([sys.executable, "-c", "import sys; sys.exit('no module named x')"])
    assert run(gmpool("--version")).seconds > 0


def test_medians_over_turns() -> None:
    ours, theirs = in_turns(lambda n: (Took(n, 1), Took(10 * n, 2)), 3)
    assert (ours, theirs) == ((1, 1), (10, 2))
