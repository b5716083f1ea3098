"""What the recorded rows in results/ show."""

from __future__ import annotations

from pathlib import Path

from scipy.stats import ks_2samp

from gmpool.engine.store import RunStore

RESULTS = Path(__file__).resolve().parents[1] / "results"


def scores(store: str, dataset: str, method: str) -> dict[tuple[int, int], float]:
    """The test score of each seed and fold."""
    rows = RunStore(RESULTS / store).finished().values()
    mine = [r for r in rows if (r["dataset"], r["method"]) == (dataset, method)]
    return {(r["seed"], r["fold"]): r["test"] for r in mine}


def test_a_hundred_stacked_trainings_are_distributed_as_alone() -> None:
    """Ten folds × ten seeds of GMT on MUTAG: one program on an H200, one after another on a CPU."""
    stacked, alone = scores("table1", "MUTAG", "gmt"), scores("mutag-alone", "MUTAG", "gmt")
    assert stacked.keys() == alone.keys()
    assert len(alone) == 100
    a, b = list(stacked.values()), list(alone.values())
    assert ks_2samp(a, b).pvalue > 0.05
    # It would see one graph of the 18 in every test part.
    assert ks_2samp(a, [score - 100 / 18 for score in b]).pvalue < 0.05
