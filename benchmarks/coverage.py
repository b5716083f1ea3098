"""How often intervals and sets hold the truth on test parts that nothing was chosen by: three sets,
twenty random splits, ensembles of two, 80, 90 and 95 % promised.

Each split is used twice, with its validation and its test part exchanged: of two such parts one is
harder, by chance by so much that the mean over twenty splits would show it.

python -m benchmarks.coverage --data DATA --work FOLDER --out results/own-data/coverage.jsonl

Beside it the same with a calibration that is broken on purpose: held-out errors count half, so that
the check must fail.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gmpool.atomic_files import write_atomically
from gmpool.data import Dataset, load_table
from gmpool.data.make_splits import with_splits
from gmpool.data.splits import Split
from gmpool.engine.checkpoint import load_model
from gmpool.engine.executors.processes import Processes
from gmpool.engine.job import Job
from gmpool.engine.keep import KeepAll
from gmpool.engine.provenance import commit, source_digest, versions
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.tasks.classify.ensemble import Ensemble, say

TABLES = {
    "esol": "esol.csv.gz",
    "freesolv": "freesolv.csv.gz",
    "bbbp": "ogbg-molbbbp.csv.gz",
}
SPLITS, SIZES, MEMBERS, EPOCHS = 20, (70, 15, 15), 2, 20
COVERAGES = (0.8, 0.9, 0.95)
ALLOWED = 0.02
Array = NDArray[np.float64]


def covered(model: Ensemble, dataset: Dataset, coverage: float) -> tuple[float, float]:
    """(the share of test labels inside, how wide intervals or how large sets are in the mean)"""
    test, graphs = dataset.folds[0].test, dataset.graphs
    assert graphs.y is not None
    y = graphs.y[test].numpy()
    said = say(model, graphs, test)
    if graphs.task == "regression":
        low, high = model.sure.intervals(said, coverage)
        return float(((low <= y) & (y <= high)).mean()), float((high - low).mean())
    found = model.sure.sets(said, coverage)  # [n, T, 2]
    inside = np.take_along_axis(found, y.astype(int)[..., None], 2)
    return float(inside.mean()), float(found.sum(2).mean())


def rows_of(name: str, data: Path, work: Path) -> Iterator[dict[str, Any]]:
    whole = load_table(data / TABLES[name])
    keep = KeepAll(work / name / "models")
    options = {"members": MEMBERS, "epochs": EPOCHS}
    for seed in range(SPLITS):
        drawn = with_splits(whole, "random", split_seed=seed, split_sizes=SIZES)
        for exchanged in (False, True):
            dataset = with_parts_exchanged(drawn) if exchanged else drawn
            job = Job.make("classify", dataset, "gmt", options=options)
            (row,) = run_jobs([job], RunStore(work / name), Processes(2), keep=keep)
            model = load_model(keep.folder / row.key).model
            for broken in (False, True):
                if broken:
                    model.sure.scores /= 2
                for coverage in COVERAGES:
                    inside, size = covered(model, dataset, coverage)
                    yield {
                        "table": name, "split": seed, "exchanged": exchanged,
                        "promised": coverage, "inside": inside, "size": size, "broken": broken,
                        "score": row.test, "metric": row.metric,
                    }  # fmt: skip


def with_parts_exchanged(dataset: Dataset) -> Dataset:
    """What was for validation is tested."""
    (split,) = dataset.folds
    return replace(dataset, folds=(Split(split.train, split.test, split.valid),))


def summary(rows: list[dict[str, Any]]) -> tuple[str, dict[bool, bool]]:
    """(a table of means over splits, whether all are as near as allowed, sound and broken)"""
    lines = ["| set | promised | inside | size | broken on purpose |", "|---|---:|---:|---:|---:|"]
    near = {False: True, True: True}
    for name in TABLES:
        for coverage in COVERAGES:
            mine = [r for r in rows if r["table"] == name and r["promised"] == coverage]
            means = {}
            for broken in (False, True):
                means[broken] = np.mean([r["inside"] for r in mine if r["broken"] == broken])
                near[broken] &= bool(abs(means[broken] - coverage) <= ALLOWED)
            size = np.mean([r["size"] for r in mine if not r["broken"]])
            lines.append(
                f"| {name} | {coverage:.0%} | {means[False]:.1%} | {size:.2f} | {means[True]:.1%} |"
            )
    return "\n".join(lines) + "\n", near


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the tables")
    parser.add_argument("--work", type=Path, required=True, help="what is done is kept here")
    parser.add_argument("--out", type=Path, required=True, help="file of rows to write")
    asked = parser.parse_args()
    origin = {"versions": versions(), "commit": commit(), "source": source_digest()}
    rows = [row for name in TABLES for row in rows_of(name, asked.data, asked.work)]
    text = "".join(json.dumps({**row, **origin}) + "\n" for row in rows)
    write_atomically({asked.out: text.encode()})
    table, near = summary(rows)
    print(table)
    print(f"all within {ALLOWED:.0%}: {near[False]}; with the broken calibration: {near[True]}")


if __name__ == "__main__":
    main()
