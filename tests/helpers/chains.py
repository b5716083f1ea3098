"""Small chains of carbon, as a set with a split, and settings that are trained in a moment."""

from __future__ import annotations

import math
from typing import Any

import torch

from gmpool.data import Dataset, Split, from_smiles
from gmpool.engine.job import Job

ENDS = ("O", "N", "Cl", "F")
CHAINS = ["C" * n + end for n in range(1, 9) for end in ENDS]
QUICK = {"epochs": 3, "hidden_dim": 8, "state_dim": 8, "num_heads": 1}


def labels_for(task: str) -> Any:
    """Of CHAINS how they end, how long they are, or yes and no to both, with gaps."""
    if task == "multiclass":
        return [n % len(ENDS) for n in range(len(CHAINS))]
    if task == "binary":
        length = [float(len(s) > 5) if n % 5 else math.nan for n, s in enumerate(CHAINS)]
        return [[float("O" in s), long] for s, long in zip(CHAINS, length, strict=True)]
    return [[float(len(s))] for s in CHAINS]


def chain_set(task: Any = "regression", name: str = "chains") -> Dataset:
    """16 to learn from, 10 for validation, 6 for the test."""
    names = ["oxygen", "long"] if task == "binary" else ["y"]
    graphs = from_smiles(CHAINS, labels_for(task), name=name, task=task, task_names=names)
    order = torch.randperm(len(CHAINS), generator=torch.Generator().manual_seed(0))
    parts = (order[:16], order[16:26], order[26:])
    return Dataset.of(graphs, (Split(*(part.sort().values for part in parts)),))


def chain_job(
    task: str = "regression", *, data: Dataset | None = None, seeds: int = 1, **options: Any
) -> Job:
    chosen = {**QUICK, **options}
    return Job.make("classify", data or chain_set(task), "gmt", seeds=seeds, options=chosen)
