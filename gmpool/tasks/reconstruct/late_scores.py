"""Chemists' scores of runs that were recorded where RDKit is not installed.

Rows keep what was predicted, so that the scores can be made later, where it is. They are recorded
beside the rows, in molecule-scores.jsonl, and are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from gmpool.data import Dataset
from gmpool.engine.store import Row, RunStore
from gmpool.tasks.reconstruct.chemistry import has_molecules, molecule_scores
from gmpool.tasks.reconstruct.data import reconstruct_split
from gmpool.tasks.reconstruct.packed_types import unpack_predictions


def with_molecule_scores(rows: Sequence[Row], dataset: Dataset, store: RunStore) -> list[Row]:
    """The rows, those of the set with its molecules' scores where they have or can get them."""
    beside = RunStore(store.folder, "molecule-scores.jsonl")
    known = beside.finished()
    possible = has_molecules(dataset.graphs) and find_spec("rdkit") is not None
    found = []
    for row in rows:
        mine = row["data_digest"] == dataset.graphs.digest and "validity" not in row["scores"]
        if mine and possible and "predicted" in row and row["key"] not in known:
            scored = {"key": row["key"], "scores": vars(_scores(row, dataset))}
            beside.record(scored)
            known[row["key"]] = scored
        more = known[row["key"]]["scores"] if mine and row["key"] in known else {}
        found.append({**row, "scores": {**row["scores"], **more}})
    return found


def _scores(row: Row, dataset: Dataset) -> object:
    graphs, ids = dataset.graphs, reconstruct_split(dataset).test
    true = graphs.batch(ids).node_cat
    assert true is not None
    predicted = unpack_predictions(row["predicted"], true[:, 0], graphs.cat_sizes[0])
    return molecule_scores(graphs, ids, predicted)
