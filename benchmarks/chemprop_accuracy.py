"""Presets for own data beside chemprop's defaults and a random forest on descriptors, on the same
splits of four sets with five seeds: ensembles of five, and each of their members alone. One
ensemble, the first, has descriptors too.

python -m benchmarks.chemprop_accuracy --data DATA --work FOLDER --out results/chemprop

Both train 50 epochs at most and choose the epoch by the validation part. What is done stays in the
folder of work, so that the same command goes on; scores.jsonl and table.md are made anew.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

from benchmarks import chemprop_runs
from benchmarks.chemprop_runs import MEMBERS, TABLES, labels_of, said_by, write_table
from gmpool.atomic_files import write_atomically
from gmpool.data import Dataset, load_table
from gmpool.data.sources.descriptors import with_descriptors
from gmpool.engine.checkpoint import load_model
from gmpool.engine.executors.processes import Processes
from gmpool.engine.job import Job
from gmpool.engine.keep import KeepAll
from gmpool.engine.provenance import commit, source_digest, versions
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.tasks.classify.ensemble import say
from gmpool.tasks.classify.join import calibrated

SEEDS = (0, 5, 10, 15, 20)
BINS = 10
COVERAGES = np.linspace(0.1, 0.9, 9)
Array = NDArray[np.float64]
Sure = tuple[Array, Array | None]
"""Probabilities or values [n, T], and deviations of values, where it gives any."""


def score(name: str, value: Array, y: Array) -> float:
    """ROC-AUC in percent, the mean over labels, or RMSE."""
    if not TABLES[name].is_classes:
        return float(np.sqrt(np.nanmean((value - y) ** 2)))
    there = ~np.isnan(y)
    columns = [t for t in range(y.shape[1]) if len(np.unique(y[there[:, t], t])) == 2]
    each = [roc_auc_score(y[there[:, t], t], value[there[:, t], t]) for t in columns]
    return 100 * float(np.mean(each))


def calibration_error(name: str, sure: Sure, y: Array) -> float | None:
    """Of probabilities how far they are from how often yes is true, in bins of as many labels
    each; of values how far the share of truths inside intervals of 10, 20, … 90 % is from that.
    None where no deviation was given."""
    value, std = sure
    there = ~np.isnan(y)
    if TABLES[name].is_classes:
        p, truth = value[there], y[there]
        parts = np.array_split(np.argsort(p, kind="stable"), BINS)
        gaps = [abs(p[part].mean() - truth[part].mean()) * len(part) for part in parts]
        return float(sum(gaps) / len(p))
    if std is None:
        return None
    away = np.abs(value - y)[there] / std[there]
    found = [(away <= norm.ppf((1 + coverage) / 2)).mean() for coverage in COVERAGES]
    return float(np.abs(np.array(found) - COVERAGES).mean())


def ours(name: str, table: Path, work: Path, seed: int, options: dict[str, Any]) -> Iterator[Sure]:
    """Of each member alone, calibrated by itself, and of all together."""
    dataset = load_table(table)
    job = Job.make(
        "classify", dataset, "gmt", first_seed=seed, options={**options, "members": MEMBERS}
    )
    folder = work / "ours" / name
    keep = KeepAll(folder / "models")
    (row,) = run_jobs([job], RunStore(folder), Processes(2), keep=keep)
    ensemble = load_model(keep.folder / row.key).model
    data: Dataset = job.task.data_for(dataset, job.model)
    split = data.folds[0]
    alone = [calibrated(member, data, split) for member in ensemble.members]
    for model in (*alone, ensemble):
        sure = model.sure.answer(say(model, data.graphs, split.test))
        yield sure.value, None if TABLES[name].is_classes else sure.std


def peers(name: str, work: Path, seed: int) -> Iterator[Sure]:
    """The same of chemprop, whose ensembles differ by so much."""
    said = said_by(work / name / f"seed-{seed}")
    yield from ((each, None) for each in said)
    yield said.mean(0), None if TABLES[name].is_classes else said.std(0)


def forest(name: str, table: Path, seed: int) -> Array:
    """A random forest on all of RDKit's descriptors and ECFP4, a forest for each label."""
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    dataset = load_table(table)
    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    graphs = with_descriptors(dataset.graphs, "rdkit")
    assert graphs.graph_float is not None
    assert graphs.graph_names is not None
    assert graphs.y is not None
    prints = [make.GetFingerprintAsNumPy(Chem.MolFromSmiles(s)) for s in graphs.graph_names]
    x = np.concatenate([np.nan_to_num(graphs.graph_float.numpy()), np.array(prints)], axis=1)
    y, split = graphs.y.numpy(), dataset.folds[0]
    learned = np.concatenate([split.train.numpy(), split.valid.numpy()])
    found = []
    for t in range(y.shape[1]):
        rows = learned[~np.isnan(y[learned, t])]
        kind = RandomForestClassifier if TABLES[name].is_classes else RandomForestRegressor
        model = kind(500, random_state=seed, n_jobs=2).fit(x[rows], y[rows, t])
        test = x[split.test.numpy()]
        yes = TABLES[name].is_classes
        found.append(model.predict_proba(test)[:, 1] if yes else model.predict(test))
    return np.stack(found, axis=1)


def rows_of(
    name: str, data: Path, work: Path, chemprop: str | None, seeds: int
) -> Iterator[dict[str, Any]]:
    table = write_table(name, data, work)
    _, y = labels_of(table, "test")
    for seed in SEEDS[:seeds]:
        if chemprop:
            chemprop_runs.train(chemprop, table, work / name / f"seed-{seed}", seed)
        said = {"gmpool": ours(name, table, work, seed, {}), "chemprop": peers(name, work, seed)}
        if seed == SEEDS[0]:
            described = ours(name, table, work, seed, {"descriptors": "quick"})
            said["gmpool, descriptors"] = described
        for who, each in said.items():
            for number, sure in enumerate(each):
                found = score(name, sure[0], y), calibration_error(name, sure, y)
                members = MEMBERS if number == MEMBERS else 1
                yield _row(name, who, seed + number % MEMBERS, members, *found)
        value = forest(name, table, seed)
        found = score(name, value, y), calibration_error(name, (value, None), y)
        yield _row(name, "random forest", seed, 1, *found)


def _row(
    name: str, who: str, seed: int, members: int, score: float, error: float | None
) -> dict[str, Any]:
    metric = "roc_auc" if TABLES[name].is_classes else "rmse"
    return {
        "table": name, "who": who, "seed": seed, "members": members, "metric": metric,
        "score": score, "calibration_error": error,
    }  # fmt: skip


def table_of(rows: list[dict[str, Any]]) -> str:
    """Means and deviations over models, and how many these are."""
    lines = ["| set | score | members | gmpool | with descriptors | chemprop | random forest |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for kind, words in (("score", ""), ("calibration_error", "calibration error of ")):
        for name in TABLES:
            for members in (1, MEMBERS):
                mine = [r for r in rows if r["table"] == name and r["members"] == members]
                cells = [
                    _cell([r[kind] for r in mine if r["who"] == who])
                    for who in ("gmpool", "gmpool, descriptors", "chemprop", "random forest")
                ]
                if mine:
                    metric = {"roc_auc": "ROC-AUC", "rmse": "RMSE"}[mine[0]["metric"]]
                    lines.append(f"| {words}{name} | {metric} | {members} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(values: list[float | None]) -> str:
    there = [value for value in values if value is not None]
    if not there:
        return "–"
    spread = statistics.stdev(there) if len(there) > 1 else 0.0
    digits = 2 if max(there) > 10 else 3
    return f"{statistics.fmean(there):.{digits}f} ± {spread:.{digits}f} ({len(there)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with the four tables")
    parser.add_argument("--work", type=Path, required=True, help="what is done is kept here")
    parser.add_argument("--out", type=Path, required=True, help="folder of scores.jsonl, table.md")
    parser.add_argument("--table", action="append", choices=TABLES, help="only this one; repeat")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="ensembles of each")
    parser.add_argument("--finished", action="store_true", help="take chemprop's runs as they are")
    asked = parser.parse_args()
    chemprop = None if asked.finished else chemprop_runs.chemprop_from_environment()
    origin = {"versions": versions(), "commit": commit(), "source": source_digest()}
    path = asked.out / "scores.jsonl"
    before = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    names = asked.table or list(TABLES)
    given = asked.data, asked.work, chemprop, asked.seeds
    rows = [row for row in before if row["table"] not in names]
    for name in names:
        rows += [{**r, **origin} for r in rows_of(name, *given)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomically({path: text.encode(), asked.out / "table.md": table_of(rows).encode()})


if __name__ == "__main__":
    main()
