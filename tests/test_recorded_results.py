"""What the recorded rows in results/ show."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev

from scipy.stats import ks_2samp

from gmpool.engine.plan import read_plan
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


def test_the_readme_says_what_is_recorded() -> None:
    """Its Table 1, from the rows: a mean over seeds of the means over folds, and the deviation."""
    page = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    lines = page.split("| | GMT | paper | GCN | paper | GIN | paper |\n")[1].split("\n\n")[0]
    rows = RunStore(RESULTS / "table1").finished().values()
    cells_of = {(cell.dataset, cell.line.method): cell for cell in read_plan("table1").cells()}
    found = 0
    for line in lines.splitlines()[1:]:
        dataset, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for method, cell in zip(("gmt", "mean", "gin"), cells[::2], strict=True):
            mine = cells_of[dataset.split(",")[0], method].recorded(rows)
            seeds = {r["seed"] for r in mine}
            means = [mean(r["test"] for r in mine if r["seed"] == seed) for seed in seeds]
            assert len(means) == 10
            assert cell == f"{mean(means):.2f} ± {stdev(means):.2f}", (dataset, method)
            found += 1
    assert found == 30
