"""Small data, models, stores and plans that the campaign starts from; made once, then copied."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from gmpool.data import load, save
from tests.campaign.forks import command

MOLECULES = (
    "CCO", "CC", "c1ccccc1", "CC(=O)O", "CN", "C#N", "CCCl", "c1ccncc1", "CCN", "COC", "C=O", "CS"
)  # fmt: skip
QUICK = ("hidden_dim=8", "num_layers=1", "epochs=2", "warmup_epochs=1", "batch_size=8")
FLAGS = ["--device", "cpu", *(word for option in QUICK for word in ("-o", option))]
REBUILD = ["--device", "cpu", "-o", "epochs=2", "-o", "hidden_dim=8"]
PLAN = """
title = "A small plan"
seeds = 2
datasets = ["molecules.csv"]
options = { hidden_dim = 8, num_layers = 1, epochs = 2, warmup_epochs = 1, batch_size = 8 }

[[line]]
label = "mean"
method = "mean"

[[line]]
label = "one head"
method = "gmt"
options = { num_heads = 1 }
"""
PARTS = ("train", "train", "valid", "test")


def molecule_table() -> list[list[str]]:
    """A header and twelve rows: yes or no, with a split."""
    rows = [
        [smiles, str(number % 2), PARTS[number % 4 - number // 4 % 2]]
        for number, smiles in enumerate(MOLECULES)
    ]
    return [["smiles", "toxic", "split"], *rows]


def as_csv(rows: list[list[str]], separator: str = ",") -> str:
    return "".join(separator.join(row) + "\n" for row in rows)


def tu_texts() -> dict[str, str]:
    """Rings and paths of three to six nodes in turn, with labels of nodes."""
    edges, owner, start = [], [], 0
    sizes = [3 + number % 4 for number in range(12)]
    for number, size in enumerate(sizes, start=1):
        ends = [(start + i, start + i + 1) for i in range(1, size)]
        if number % 2:
            ends.append((start + size, start + 1))
        edges += [f"{a}, {b}\n{b}, {a}" for a, b in ends]
        owner += [str(number)] * size
        start += size
    return {
        "A": "\n".join(edges) + "\n",
        "graph_indicator": "\n".join(owner) + "\n",
        "graph_labels": "".join(f"{number % 2}\n" for number in range(12)),
        "node_labels": "".join(f"{node % 3}\n" for node in range(start)),
    }


def write_tu(folder: Path, texts: dict[str, str], name: str = "SHAPES") -> None:
    folder.mkdir()
    for part, text in texts.items():
        (folder / f"{name}_{part}.txt").write_text(text)


def make_materials(folder: Path) -> None:
    """In a child: all that the trials are given."""
    folder.mkdir()
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    Path("molecules.csv").write_text(as_csv(molecule_table()))
    Path("new.csv").write_text(
        "id,smiles\n" + "".join(f"{i},C{s}\n" for i, s in enumerate(MOLECULES))
    )
    write_tu(Path("shapes"), tu_texts())
    Path("plan.toml").write_text(PLAN)
    flags = [*FLAGS, "--store", "old"]
    _do("train", "molecules.csv", "-m", "mean", "--seeds", 3, "--keep-models", *flags)
    _do("train", "shapes", "-m", "gmt", "--folds", 2, *flags)
    _do("train", "molecules.csv", "-m", "mean", "--first-seed", 7, "--save-model", "model", *FLAGS,
        "--store", "other")  # fmt: skip
    _do("reconstruct", "ring", "-p", "n=6", *REBUILD, "--keep-models", "--store", "old")
    _do("run", "plan.toml", "--device", "cpu", "--store", "old")
    shutil.rmtree("other")
    _models_and_sets()
    _stale(Path("old"), Path("stale"))
    for name in ("table.md", "table.html", "out.csv", "out.csv.gz"):
        Path(name).write_text("what was here before\n")
    shutil.rmtree("cache", ignore_errors=True)


def _models_and_sets() -> None:
    """One of each kind: models/NAME, packed/NAME.safetensors."""
    rows = molecule_table()
    Path("energy.csv").write_text(
        as_csv([[*r, "energy" if not i else f"{i * 1.5}"] for i, r in enumerate(rows)])
    )
    label = ["--label", "energy", "--store", "other"]
    _do("train", "energy.csv", "-m", "gmt", *FLAGS, *label, "--save-model", "models/energy")
    to = ["--store", "other", "--save-model"]
    _do("train", "shapes", "-m", "mincut", "--folds", 1, *FLAGS, *to, "models/shapes")
    _do("train", "molecules.csv", "-m", "gmt", *FLAGS, *to, "models/toxic")
    _do("reconstruct", "molecules.csv", *REBUILD, *to, "models/atoms")
    shutil.rmtree("other")
    Path("packed").mkdir()
    table, shapes = load("molecules.csv"), load("shapes")
    save(table.graphs, "packed/molecules.safetensors", table.folds[0])
    save(shapes.graphs, "packed/shapes.safetensors")
    save(load("energy.csv", label_columns=("energy",)).graphs, "packed/energy.safetensors")
    save(load("molecules.csv", atoms="types").graphs, "packed/atoms.safetensors")


def _stale(store: Path, to: Path) -> None:
    """The store as an older version would have written it: other keys."""
    shutil.copytree(store, to)
    lines = (to / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        old = f"{row['key'][::-1]}"
        if (to / "models" / row["key"]).exists():
            (to / "models" / row["key"]).rename(to / "models" / old)
        row["key"] = old
    (to / "rows.jsonl").write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))


def _do(*words: object) -> None:
    said = command(*words)
    if said.code:
        raise RuntimeError(said.text)
