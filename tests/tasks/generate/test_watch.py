"""What a row says of the molecules that its run drew, with RDKit and without."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from few_molecules import FEW, OPTIONS, few_molecules
from molecule_rows import encoded

from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore
from gmpool.record import Row
from gmpool.tasks.generate import task as task_module
from gmpool.tasks.generate import watch as watch_module
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.packed_draws import unpack_draws
from gmpool.tasks.generate.scores import MEASURES, canonical
from gmpool.tasks.generate.settings import MolGANTrainConfig
from gmpool.tasks.generate.watch import CURVES, DrawWatch, learned_of

EVERY = {"loose", "strict", "unique", "novel", "vun", "distinct", *MEASURES}


@pytest.fixture
def without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (task_module, watch_module):
        monkeypatch.setattr(module, "find_spec", lambda name: None)


def rows_of(folder: Path, executor: Any = None, **options: Any) -> list[Row]:
    job = Job.make("generate", few_molecules(), "mean", seeds=2, options={**OPTIONS, **options})
    return run_jobs([job], RunStore(folder), executor or Alone())


def drawn(*smiles: str, alphabet: Alphabet) -> tuple[torch.Tensor]:
    return (torch.from_numpy(np.stack([encoded(text, alphabet) for text in smiles])),)


def test_a_row_says_how_its_molecules_were(tmp_path: Path) -> None:
    for row in rows_of(tmp_path, epochs=3):
        said = row.more["generated"]
        assert said.keys() == {*CURVES, "iteration", "smiles", "draws", "rings", "histograms"}
        assert {*CURVES} == EVERY
        assert said["iteration"] == [5, 10, 15]
        assert {len(said[name]) for name in (*CURVES, "smiles")} == {3}
        assert said["draws"] == 20
        assert (row.metric, row.test) == ("vun", said["vun"][-1])
        assert row.more["selection_score"] == said["vun"][-1]
        assert (row.valid, row.valid_loss, row.best_epoch) == (None, None, 3), "the last counts"
        shown = [smiles for epoch in said["smiles"] for smiles in epoch]
        assert shown, "of 60 draws with three atoms some are valid"
        assert canonical(shown) == shown
        valid = [round(share / 100 * 20) for share in said["strict"]]
        assert [len(epoch) for epoch in said["smiles"]] == [min(8, count) for count in valid]
        assert sum(said["rings"]) == valid[-1]
        json.dumps(row.to_json(), allow_nan=False)


def test_scores_by_hand() -> None:
    molecules = few_molecules()
    watch = DrawWatch(molecules, MolGANTrainConfig(draws=4, epoch_steps=7), "cpu")
    assert watch.numbers.tolist() == [0, 1, 2, 3]
    alphabet = molecules.alphabet
    (rows,) = drawn("CCO", "CCO", "OOO", "CC", alphabet=alphabet)
    watch.see(1, (rows,))
    none = torch.zeros_like(rows)
    watch.see(2, (none,))
    watch.see(3, (torch.cat([rows[2:3], none[:3]]),))
    score, said = watch.said()
    found = said["generated"]
    assert score == said["selection_score"] == 25.0
    assert found["iteration"] == [7, 14, 21]
    assert found["strict"] == [100.0, 0.0, 25.0]
    assert found["unique"] == [75.0, None, 100.0], "not defined of nothing, and JSON has no NaN"
    assert found["novel"] == [pytest.approx(100 / 3, abs=1e-4), None, 100.0]
    assert found["vun"] == [25.0, 0.0, 25.0]
    assert found["distinct"] == [3, 0, 1]
    assert found["smiles"] == [["CCO", "CCO", "OOO", "CC"], [], ["OOO"]]
    assert found["qed"][1] is None
    assert found["rings"] == [1, 0, 0, 0, 0, 0, 0], "of the last"


def test_new_is_what_was_not_learned_from() -> None:
    """Of a set with a split that is the train part."""
    molecules = few_molecules()
    some = replace(molecules, train=torch.tensor([0, 1]))
    watch = DrawWatch(some, MolGANTrainConfig(draws=2, epoch_steps=1), "cpu")
    watch.see(1, drawn("CC", "CCC", alphabet=molecules.alphabet))
    assert watch.said()[0] == 50.0
    learned = learned_of(some)
    assert [smiles in learned for smiles in FEW] == [True, True, False, False, False, False]
    assert all(smiles in learned_of(molecules) for smiles in canonical(FEW))


@pytest.mark.usefixtures("without_rdkit")
@pytest.mark.parametrize("executor", [Alone(), Stacked(replicas=2)], ids=["alone", "stacked"])
def test_without_rdkit_a_row_keeps_the_molecules(tmp_path: Path, executor: Any) -> None:
    molecules = few_molecules()
    for row in rows_of(tmp_path, executor):
        assert "generated" not in row.more
        assert row.test is None
        said = row.more["drawn"]
        assert said["iteration"] == [5, 10]
        assert Alphabet.from_json(said["alphabet"]) == molecules.alphabet
        first, last = (unpack_draws(text, molecules.alphabet, 20) for text in said["packed"])
        assert first.shape == last.shape == (20, molecules.alphabet.width)
        assert len({row.tobytes() for row in last}) > 5, "not one and the same"
        json.dumps(row.to_json(), allow_nan=False)


@pytest.mark.usefixtures("without_rdkit")
def test_without_rdkit_the_score_is_not_known() -> None:
    molecules = few_molecules()
    watch = DrawWatch(molecules, MolGANTrainConfig(draws=1, epoch_steps=5), "cpu")
    watch.see(1, drawn("CCO", alphabet=molecules.alphabet))
    score, said = watch.said()
    assert math.isnan(score)
    assert said.keys() == {"drawn"}


def test_what_is_seen_does_not_depend_on_who_trains_beside_it(tmp_path: Path) -> None:
    alone, stacked = rows_of(tmp_path / "a"), rows_of(tmp_path / "s", Stacked(replicas=2))
    for mine, theirs in zip(alone, stacked, strict=True):
        assert (mine.replicas, theirs.replicas) == (1, 2)
        assert mine.more["generated"] == theirs.more["generated"]


def test_molecules_of_a_set_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever number of runs there is on it."""
    asked = []

    def counted(smiles: list[str]) -> list[str]:
        asked.append(len(smiles))
        return canonical(smiles)

    monkeypatch.setattr(watch_module, "canonical", counted)
    molecules = few_molecules(["CCF", "CF", "CCC"])
    train = MolGANTrainConfig(draws=1, epoch_steps=5)
    for _ in range(3):
        DrawWatch(molecules, train, "cpu")
        learned_of(molecules)
    assert asked == [3]
