"""Tables of molecules that are damaged, or written in another way."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import lzma
import math
import random
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from gmpool.data import Dataset, load
from gmpool.data.sources.atom_types import AtomTypePacker  # noqa: F401  (imported before a fork)
from tests.campaign.inputs.batches import Inputs, accepted, claim, materials
from tests.campaign.materials import FLAGS, MOLECULES, PARTS, REBUILD
from tests.campaign.mutate import damaged_bytes, word

LABELS: dict[str, Any] = {
    "toxic": lambda i: i % 2,
    "active": lambda i: "" if i % 5 == 4 else i // 2 % 2,
    "energy": lambda i: f"{i * 1.25 - 3:.2f}",
    "kind": lambda i: ("acid", "base", "salt")[i % 3],
    "compound_id": lambda i: f"C{i:04d}",
    "class": lambda i: i % 3,
    "MW": lambda i: 40.5 + 3 * i,
}
COLUMNS, TRUTH = "columns.json", "truth.json"
"""The header before the damage; the cells, where it leaves them to be known."""


def base(rng: random.Random) -> list[list[str]]:
    names = rng.sample(list(LABELS), rng.choice((1, 1, 1, 2, 3)))
    header = ["smiles", *names, *(["split"] if rng.random() < 0.4 else [])]
    rng.shuffle(header)
    rows = [header]
    for i in range(rng.choice((1, 3, 12, 12, 12, 30))):
        made = {name: str(LABELS[name](i)) for name in names}
        made |= {"smiles": "C" * (i // 12) + MOLECULES[i % 12], "split": PARTS[i % 4]}
        rows.append([made[name] for name in header])
    return rows


def damaged_rows(rng: random.Random, rows: list[list[str]]) -> bool:
    """Whether there still are as many rows as before."""
    same = True
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        row = rng.randrange(len(rows))
        at = rng.randrange(len(rows[row])) if rows[row] else 0
        match rng.randrange(10):
            case 0:
                same = False
                del rows[row][at : at + 1]
            case 1:
                same = False
                rows[row].insert(at, word(rng))
            case 2:
                rows.insert(row or 1, list(rows[row or -1]))
            case 3:
                same = False
                del rows[row]
                if not rows:
                    rows.append([])
            case 4:
                same = False
                rows[0] = [
                    rng.choice((c, c.upper(), f" {c} ", "smiles", "", "split")) for c in rows[0]
                ]
            case _ if rows[row]:
                rows[row][at] = word(rng)
                same = same and row > 0
    return same and all(rows)


def make(rng: random.Random, folder: Path) -> None:
    rows = base(rng)
    (folder / COLUMNS).write_text(json.dumps(rows[0]))
    known = damaged_rows(rng, rows)
    separator = rng.choice(",,,,,,,;;\t\t|")
    path = folder / "written"
    with path.open("w", newline="", encoding="utf-8") as file:
        quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        ending = rng.choice(("\n", "\n", "\r\n", "\r"))
        csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=ending).writerows(
            rows
        )
    if ending == "\n" and quoting == csv.QUOTE_MINIMAL:
        # Python leaves a carriage return unquoted there, and readers take it for a line's end.
        known = known and not any("\r" in cell for row in rows for cell in row)
    raw = path.read_bytes()
    path.unlink()
    if rng.random() < 0.15:
        encoding = rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32"))
        raw = raw.decode().encode(encoding, errors="replace")
    elif rng.random() < 0.05:
        raw = codecs.BOM_UTF16_LE + raw
    if rng.random() < 0.25:
        known, raw = False, damaged_bytes(rng, raw)
    suffix = rng.choice(
        (".csv",) * 20 + (".tsv", ".csv.gz", ".csv.gz", ".csv.xz", ".smi", ".parquet")
    )
    if suffix.endswith("z"):
        raw = gzip.compress(raw) if suffix.endswith(".gz") else lzma.compress(raw)
        if rng.random() < 0.5:
            known, raw = False, damaged_bytes(rng, raw, 1)
    odd = rng.random()
    if odd < 0.01:
        (folder / "t.csv").mkdir()
        return
    if odd < 0.05 and find_spec("pyarrow") and len(set(rows[0])) == len(rows[0]) and rows[0]:
        write_parquet(rng, folder / "t.parquet", rows)
        return
    (folder / f"t{suffix}").write_bytes(raw)
    if known and separator == "," and suffix == ".csv" and ending != "\r":
        (folder / TRUTH).write_text(json.dumps(rows))


def write_parquet(rng: random.Random, path: Path, rows: list[list[str]]) -> None:
    import pyarrow
    import pyarrow.parquet

    width = len(rows[0])
    columns = {
        name: [(row + [""] * width)[at] for row in rows[1:]] for at, name in enumerate(rows[0])
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    if rng.random() < 0.5:
        path.write_bytes(damaged_bytes(rng, path.read_bytes(), 1))


def options(rng: random.Random, columns: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if rng.random() < 0.6:
        made["skip_bad_rows"] = True
    if rng.random() < 0.6:
        names = [name for name in columns if name in LABELS or rng.random() < 0.1]
        made["label_columns"] = tuple(rng.sample(names, min(len(names), rng.choice((0, 1, 1, 2)))))
    if rng.random() < 0.1:
        made["task"] = rng.choice(("binary", "multiclass", "regression"))
    if rng.random() < 0.1:
        made["split_column"] = rng.choice(("split", "toxic", "nothing"))
    if rng.random() < 0.15:
        made["atoms"] = "types"
    return made


def check(dataset: Dataset) -> None:
    """What holds of every set that is given to a training."""
    graphs = dataset.graphs
    graphs.validate()
    for split in dataset.folds:
        ids = torch.cat([split.train, split.valid, split.test])
        claim(len(ids) == len(ids.unique()), "a graph is in two parts")
        claim(bool(((ids >= 0) & (ids < graphs.num_graphs)).all()), "a part names no graph")
    if graphs.y is not None:
        claim(not bool(torch.isinf(graphs.y.double()).any()), "a label is infinite")


def compare(dataset: Dataset, rows: list[list[str]]) -> None:
    """With the cells as they were written: no row is lost, and a label is the number it was."""
    graphs, header = dataset.graphs, [name.strip() for name in rows[0]]
    count, left = len(dataset), len(dataset.skipped)
    claim(
        count + left == len(rows) - 1, f"{len(rows) - 1} rows gave {count} graphs, {left} left out"
    )
    if left or graphs.y is None or graphs.task == "multiclass":
        return
    for column, name in enumerate(graphs.task_names):
        cells = [row[header.index(name)].strip() for row in rows[1:]]
        for cell, y in zip(cells, graphs.y[:, column].tolist(), strict=True):
            if PLAIN.fullmatch(cell):
                true = float(cell)
                claim(
                    abs(y - true) <= 1e-6 * abs(true), f"{name} is {y} where the file says {cell}"
                )
            elif not cell:
                claim(math.isnan(y), f"{name} is {y} where the file says nothing")


PLAIN = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")


def attempt(rng: random.Random, folder: Path) -> None:
    (path,) = folder.glob("t.*")
    written = folder / TRUTH
    rows = json.loads(written.read_text()) if written.exists() else None
    given = options(rng, json.loads((folder / COLUMNS).read_text()))
    dataset = load(path, **given)
    check(dataset)
    if rows is not None:
        compare(dataset, rows)
    way = rng.random()
    skip = ["--skip-bad-rows"] if given.get("skip_bad_rows") else []
    if way < 0.12:
        accepted("train", path.name, "-m", "mean", *FLAGS, *skip)
    elif way < 0.16:
        accepted("reconstruct", path.name, *REBUILD, *skip)
    elif way < 0.26:
        accepted("predict", materials() / "model", path.name, "--out", "out.csv", *skip)
        claim(Path("out.csv").is_file(), "no predictions were written")


TABLES = Inputs("table", make, attempt)
