"""Chemists' scores of runs that were recorded where RDKit is not installed.

Rows keep what was predicted, so that the scores can be made later, where it is. They are recorded
beside the rows, in molecule-scores.jsonl, and are made once.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gmpool.data import Dataset
from gmpool.errors import DataError
from gmpool.journal import Journal
from gmpool.packed_numbers import pack_numbers, unpack_numbers
from gmpool.record import Row
from gmpool.tasks.reconstruct.chemistry import has_molecules, molecule_scores
from gmpool.tasks.reconstruct.data import named_dataset, reconstruct_split
from gmpool.tasks.reconstruct.scores import require_scores

FILE = "molecule-scores.jsonl"


def with_molecule_scores(rows: Sequence[Row], folder: Path) -> list[Row]:
    """The rows of a store, with their molecules' scores where they have or can get them."""
    require_scores(rows)
    beside = Journal(folder / FILE)
    known = {entry["key"]: entry["scores"] for _, entry in beside}
    lacking = [row for row in rows if "predicted" in row.more and "validity" not in _scores(row)]
    unscored = [row for row in lacking if row.key not in known]
    for name in dict.fromkeys(row.dataset for row in unscored if find_spec("rdkit")):
        dataset = named_dataset(name)
        if dataset is None or not has_molecules(dataset.graphs):
            continue
        for row in unscored:
            if row.data_digest == dataset.digest:
                known[row.key] = vars(_scored(row, dataset))
                beside.append({"key": row.key, "scores": known[row.key]})
    more = {row.key: known[row.key] for row in lacking if row.key in known}
    return [
        replace(row, more={**row.more, "scores": {**_scores(row), **more[row.key]}})
        if row.key in more
        else row
        for row in rows
    ]


def _scores(row: Row) -> dict[str, float]:
    found: dict[str, float] = row.more["scores"]
    return found


def _scored(row: Row, dataset: Dataset) -> object:
    graphs, ids = dataset.graphs, reconstruct_split(dataset).test
    true = graphs.batch(ids).node_cat
    assert true is not None
    predicted = unpack_predictions(row.more["predicted"], true[:, 0], graphs.cat_sizes[0])
    return molecule_scores(graphs, ids, predicted)


def pack_predictions(predicted: Tensor, true: Tensor, categories: int) -> str:
    """Both int [N], each in 0 … categories - 1."""
    difference = ((predicted.cpu().long() - true.cpu().long()) % categories).numpy()
    return pack_numbers(difference, _width(categories))


def unpack_predictions(text: str, true: Tensor, categories: int) -> Tensor:
    """The predictions again. true int [N] -> int64 [N]"""
    nodes = true.numel()
    try:
        found = unpack_numbers(text, _width(categories), nodes)
    except ValueError as error:
        raise DataError(
            f"recorded predictions for {nodes} nodes cannot be read: {error}; they were changed, "
            f"or belong to another set or split: run it again"
        ) from error
    if len(found) != nodes:
        raise DataError(
            f"recorded predictions are for {len(found)} nodes, but the data has {nodes}; "
            f"they belong to another set or split"
        )
    difference = torch.from_numpy(found.astype(np.int64))
    return (true.cpu().long() + difference) % categories


def _width(categories: int) -> str:
    return "<u1" if categories <= 2**8 else "<u4"
