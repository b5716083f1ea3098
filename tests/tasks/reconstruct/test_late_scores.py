"""Chemists' scores that are made later, where RDKit is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_sets import TEN_MOLECULES

from gmpool.data import Dataset, load_table
from gmpool.engine.executors.executor import Alone
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import DataError
from gmpool.tasks.reconstruct import late_scores
from gmpool.tasks.reconstruct import task as module
from gmpool.tasks.reconstruct.late_scores import (
    pack_predictions,
    unpack_predictions,
    with_molecule_scores,
)


def molecules(folder: Path) -> Dataset:
    table = folder / "molecules.csv"
    table.write_text("smiles\n" + "\n".join(TEN_MOLECULES) + "\n")
    return load_table(table, atoms="types")


def test_scores_of_molecules_at_once_or_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdkit")
    data, options = molecules(tmp_path), {"epochs": 3, "hidden_dim": 8, "batch_size": 8}
    job = Job.make("reconstruct", data, "gmt", seeds=2, options=options)
    at_once = run_jobs([job], RunStore(tmp_path / "chemists"), Alone())
    with monkeypatch.context() as patch:
        patch.setattr(module, "find_spec", lambda name: None)
        rows = run_jobs([job], RunStore(tmp_path / "runs"), Alone())
    assert "validity" not in rows[0].more["scores"]
    assert with_molecule_scores(rows, tmp_path) == rows, "a set without a name cannot be found"
    monkeypatch.setattr(late_scores, "named_dataset", lambda name: data)
    later = with_molecule_scores(rows, tmp_path)
    assert [row.more["scores"] for row in later] == [row.more["scores"] for row in at_once]
    assert [row.more["scores"] for row in rows] != [row.more["scores"] for row in later]

    def never(*_: object) -> None:
        raise AssertionError("scores are made once")

    monkeypatch.setattr(late_scores, "molecule_scores", never)
    assert with_molecule_scores(rows, tmp_path) == later
    assert with_molecule_scores(at_once, tmp_path) == at_once, "which have them already"


@pytest.mark.parametrize("categories", [2, 28, 256, 257, 5000])
def test_there_and_back(categories: int) -> None:
    generator = torch.Generator().manual_seed(categories)
    true, found = torch.randint(categories, (2, 1000), generator=generator)
    text = pack_predictions(found, true, categories)
    assert torch.equal(unpack_predictions(text, true, categories), found)


def test_what_is_right_costs_next_to_nothing() -> None:
    true = torch.randint(28, (23_000,), generator=torch.Generator().manual_seed(0))
    found = true.clone()
    found[::100] = 3
    assert len(pack_predictions(true, true, 28)) < 100
    assert len(pack_predictions(found, true, 28)) < 1500


def test_predictions_of_another_set_are_refused() -> None:
    true = torch.zeros(5, dtype=torch.int64)
    text = pack_predictions(true, true, 28)
    with pytest.raises(DataError, match=r"more than 4 numbers; .*another set"):
        unpack_predictions(text, true[:4], 28)
    with pytest.raises(DataError, match="for 5 nodes, but the data has 6"):
        unpack_predictions(text, torch.zeros(6, dtype=torch.int64), 28)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_predictions("no base64!", true, 28)
    with pytest.raises(DataError, match="cannot be read"):
        unpack_predictions(text[:8], true, 28)
