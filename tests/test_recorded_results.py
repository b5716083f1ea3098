"""What the recorded rows in results/ show, and that they are the runs that the plans ask for."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from said import Said
from scipy.stats import ks_2samp

from gmpool.engine.job import Recorded, key_of
from gmpool.engine.plan import read_plan
from gmpool.engine.store import RunStore
from gmpool.record import Row

RESULTS = Path(__file__).resolve().parents[1] / "results"
STORES = sorted(
    path.parent.name
    for path in RESULTS.glob("*/rows.jsonl")
    if path.parent.name != "second-opinion"  # networks of others, without keys
)
Cli = Callable[..., Said]


@cache
def recorded(store: str) -> list[Row]:
    return list(RunStore(RESULTS / store))


def scores(store: str, dataset: str, method: str) -> dict[tuple[int, int], float | None]:
    """The test score of each seed and fold."""
    mine = [row for row in recorded(store) if (row.dataset, row.method) == (dataset, method)]
    return {(row.seed, row.fold): row.test for row in mine}


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
    rows = Recorded(recorded("table1"))
    jobs = {(job.name, job.model.method): job for job in read_plan("table1").jobs()}
    found = 0
    for line in lines.splitlines()[1:]:
        dataset, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for method, cell in zip(("gmt", "mean", "gin"), cells[::2], strict=True):
            mine = rows.of(jobs[dataset.split(",")[0], method])
            seeds = {row.seed for row in mine}
            means = [mean(row.test for row in mine if row.seed == seed) for seed in seeds]
            assert len(means) == 10
            assert cell == f"{mean(means):.2f} ± {stdev(means):.2f}", (dataset, method)
            found += 1
    assert found == 30


def best_valid(row: Row) -> float:
    return max(score for score in row.curve["valid_metric"] if score is not None)


def test_the_readme_of_results_says_what_variants_gave() -> None:
    """Beside the runs of Table 1 on the same folds with the same seed."""
    page = (RESULTS / "README.md").read_text(encoding="utf-8").split("\n## variants/")[1]
    lines = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| ")]
    told = {tuple(cell.strip() for cell in line[:7]) for line in lines[1:]}
    deviations = (RESULTS.parent / "docs" / "deviations.md").read_text(encoding="utf-8")
    found = set()
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in recorded("variants"):
        pool = row.model["pool"].get("scored_by")
        norm, patience = row.model.get("batch_norm"), row.train["patience"]
        changed = {"batch_norm": norm, "scored_by": pool, "patience": patience}
        usual = {"batch_norm": None, "scored_by": None, "patience": 50}
        how = [f"{k}={'none' if v is None else v}" for k, v in changed.items() if v != usual[k]]
        groups[row.dataset, row.method, " ".join(how)].append(row)
    for (dataset, method, how), rows in groups.items():
        places = {(row.seed, row.fold) for row in rows}
        plain = [
            row
            for row in recorded("table1")
            if (row.dataset, row.method) == (dataset, method) and (row.seed, row.fold) in places
        ]
        assert len(plain) == len(rows)
        numbers = [
            f"{mean(score(row) for row in of):.2f}"
            for score in (lambda row: row.test, best_valid)
            for of in (rows, plain)
        ]
        found.add((f"{method} on {dataset}", how, str(len(rows)), *numbers))
        assert numbers[0] in deviations
        assert numbers[2] in deviations
    assert told == found


def test_docs_say_which_runs_stop_in_the_warm_up() -> None:
    page = (RESULTS.parent / "docs" / "deviations.md").read_text(encoding="utf-8")
    said = " ".join(page.split())
    runs = [row for row in recorded("table1") if row.dataset == "MUTAG"]
    short = [row for row in runs if row.epochs <= 60]
    first = sum(row.best_epoch == 1 for row in short)
    assert f"Of the {len(runs):,} runs of MUTAG {len(short)} end by epoch 60" in said
    assert f"in {first} of them no epoch has a smaller validation loss than the first" in said
    assert {row.fold for row in short} == {4, 7, 10}
    counts = Counter(row.method for row in short)
    many = {method for method, count in counts.items() if count > 4}
    assert many == {
        "mean", "set2set", "sortpool", "sagpool", "sagpool-global", "topk", "asap", "edgepool",
    }  # fmt: skip
    most = sorted(counts[method] for method in many)
    assert f"{most[0]} to {most[-1]} of 100 runs are such" in said


@pytest.mark.parametrize("store", STORES)
def test_every_row_has_the_key_of_its_own_configuration(store: str) -> None:
    rows = recorded(store)
    assert rows
    assert [row.key for row in rows] == [key_of(row) for row in rows]
    assert len({row.key for row in rows}) == len(rows), "each run is recorded once"


GOLDEN = {
    ("table1", "gmt", "MUTAG"): ("7c9f0f8b5b1622f10a73", "d758058b7c5f9db0917f"),
    ("table1", "gmt", "DD"): ("c33487d9b4ab903f9092", "ab50abba1bd41447e3dd"),
    ("table1", "mean", "ogbg-molhiv"): ("faed90a5a8349bc4feeb", "367a883d0c7684d6991f"),
    ("table1", "haarpool", "PROTEINS"): ("0be910e3b1a655edacab", "ba47b5966a09b156dbe7"),
    ("table1", "edgepool", "IMDB-BINARY"): ("273c01965de0606db6bb", "30cebc0d6c4c559fa00a"),
    ("ablation", "without graph attention", "PROTEINS"): (
        "0f3e683076a0b28834dc",
        "835a63589a73d247c37b",
    ),
    ("cpu", "wl-svm", "MUTAG"): ("8f0cfadc35a55ec4c66c", "c3076b191a837fda2ad0"),
    ("quick", "gmt", "MUTAG"): ("0906ec1ee2d920ed7cf5", "787611eeb632382d6126"),
    ("molgan", "mean", "QM9"): ("e2e1ee7b468e55cac231", "554a6fb564c2b8d5457b"),
    ("molgan", "GMPool_1 over seeds", "QM9"): ("6efbc9e7627d21af6e0d", "11bd103e59e145e00e5e"),
    ("zinc", "gmt 5%", "ZINC"): ("9d7c0bcded2007820eab", "1775b74b0353257feaea"),
    ("synthetic", "mincut without normalisation min a", "ring"): (
        "fc5edb549abb5da645ad",
        "fc5edb549abb5da645ad",
    ),
}


@pytest.mark.parametrize(("plan", "line", "dataset"), GOLDEN)
def test_published_configurations_keep_their_keys(plan: str, line: str, dataset: str) -> None:
    """Of the first run and the last: a changed default or a changed way to make keys would leave
    all that users have recorded behind."""
    (job,) = [j for j in read_plan(plan).jobs() if (j.label, j.name) == (line, dataset)]
    assert (job.runs[0].key, job.runs[-1].key) == GOLDEN[plan, line, dataset]


PLANS = {
    "table1": "table1",
    "ablation": "table1",
    "validation": "table1",
    "cpu": "methods",
    "zinc": "zinc",
    "synthetic": "synthetic",
}
# Rows are added, and none is lost to a plan.
AT_LEAST = {
    "table1": 6300, "ablation": 1000, "validation": 6300, "cpu": 360, "zinc": 120, "synthetic": 24,
}  # fmt: skip


def by_method(counts: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str], list[int]]:
    """How many runs each line of a method on a set has, of those that have some."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for method, dataset, count in counts:
        if count:
            found[method, dataset].append(count)
    return {which: sorted(numbers) for which, numbers in found.items()}


def shown_runs(found: Any) -> list[tuple[str, str, int]]:
    """(method, set, runs) of each cell of a table in JSON; one that knows ratios and objectives
    has a cell for each metric, all of the same runs."""
    if isinstance(found, dict):
        return [(cell["method"], cell["dataset"], cell["runs"]) for cell in found["cells"]]
    lines: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for cell in found:
        which = (cell["label"], cell["ratio"], cell["objective"])
        lines[cell["method"], cell["dataset"], *which].add(cell["seeds"])
    return [(str(key[0]), str(key[1]), count) for key, counts in lines.items() for count in counts]


@pytest.mark.parametrize("plan", PLANS)
def test_a_dry_run_and_the_table_count_the_same_runs(
    plan: str, gmpool_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (plan, "--store", RESULTS / PLANS[plan])
    planned = gmpool_cli("run", *words, "--dry-run", "--json", "--device", "cpu")
    assert planned.code == 0, planned.err
    dry = json.loads(planned.out)
    assert dry["recorded"] >= AT_LEAST[plan]
    counted = [(cell["method"], cell["dataset"], cell["recorded"]) for cell in dry["cells"]]
    made = gmpool_cli("table", *words, "--json")
    assert made.code == 0, made.err
    shown = json.loads(made.out)
    assert by_method(shown_runs(shown)) == by_method(counted)
    if isinstance(shown, dict):  # whose cells are those of the plan, by the labels of its lines
        cells = {(cell["line"], cell["dataset"]): cell["runs"] for cell in shown["cells"]}
        expected = {(cell["line"], cell["dataset"]): cell["recorded"] for cell in dry["cells"]}
        assert cells == expected
        text = gmpool_cli("table", *words, "--format", "csv").out
        listed = {
            (r["line"], r["dataset"]): int(r["runs"]) for r in csv.DictReader(io.StringIO(text))
        }
        assert listed == expected


TABLES = {
    "table1/table1.md": "table1",
    "table1/ablation.md": "ablation",
    "table1/validation.md": "validation",
    "table1/validation-authors.md": "validation-authors",
    "methods/table.md": "cpu",
    "zinc/table.md": "zinc",
    "synthetic/table.md": "synthetic",
    "molgan/table.md": "molgan",
    "molgan-cpu/table.md": "molgan",
}


@pytest.mark.parametrize("path", TABLES)
def test_a_recorded_table_is_what_its_command_prints(
    path: str, gmpool_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = RESULTS / path
    plan = TABLES[path]
    said = gmpool_cli("table", plan, "--store", written.parent, "--format", "markdown")
    assert said.code == 0, said.err
    assert said.out == written.read_text(encoding="utf-8")
