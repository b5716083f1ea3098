"""Scoring beside the training: the same scores, failures that come through, nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal

import numpy as np
import pytest
from molecule_rows import QM9, encoded

from gmpool.errors import DataError, UserError
from gmpool.tasks.generate.beside import Scored, Scoring
from gmpool.tasks.generate.scores import DrawScorer, DrawScores

pytest.importorskip("rdkit")
DRAWN = np.stack([encoded(text) for text in ("CC", "CCO", "CC", "c1cc[nH]c1")])


class Vanishing(DrawScorer):
    """The process that scores with it ends as if it had been killed."""

    def score(self, rows: np.ndarray) -> DrawScores:
        os._exit(1)


class Refusing(DrawScorer):
    def score(self, rows: np.ndarray) -> DrawScores:
        raise UserError("not these")


def expected(rows: np.ndarray, shown: int) -> Scored:
    scorer = DrawScorer(QM9, frozenset({"CC"}))
    return Scored(scorer.score(rows), scorer.first_valid(rows, shown))


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_the_scores_are_the_same(workers: int) -> None:
    with Scoring(DrawScorer(QM9, frozenset({"CC"})), workers) as scoring:
        waiting = [scoring.submit(DRAWN[:n], shown=2) for n in (4, 1, 3)]
        assert [one().scores.draws for one in waiting] == [4, 1, 3], "workers are there"
        for child in multiprocessing.active_children():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGINT)
        waiting.append(scoring.submit(DRAWN, shown=9))
        found = [one() for one in waiting]
        assert waiting[0]() == found[0]
    assert found == [expected(DRAWN[:n], 2) for n in (4, 1, 3)] + [expected(DRAWN, 9)]
    assert found[0].smiles == ["CC", "CCO"]
    assert multiprocessing.active_children() == []


def test_where_no_process_can_be_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    with Scoring(DrawScorer(QM9, frozenset({"CC"})), 1) as scoring:
        assert scoring.submit(DRAWN, shown=1)() == expected(DRAWN, 1)


def test_failures_come_through() -> None:
    with Scoring(Refusing(QM9, frozenset()), 1) as scoring:
        result = scoring.submit(DRAWN, shown=0)
        with pytest.raises(UserError, match="not these"):
            result()
        with pytest.raises(DataError, match="got int64"):
            scoring.submit(DRAWN.astype(np.int64), shown=0)


def test_a_worker_that_vanishes() -> None:
    with Scoring(Vanishing(QM9, frozenset()), 1) as scoring:
        result = scoring.submit(DRAWN, shown=0)
        for ask in (result, lambda: scoring.submit(DRAWN, shown=0)):
            with pytest.raises(UserError, match=r"ended before it was done.* go on with fewer"):
                ask()
    assert multiprocessing.active_children() == []
