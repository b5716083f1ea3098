"""Scores of drawn molecules, by hand and against each other."""

from __future__ import annotations

import gzip
import math
import os
import pickle
import random
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from molecule_rows import QM9, encoded

from gmpool.errors import DataError, MissingPackage, UserError
from gmpool.tasks.generate import scores as module
from gmpool.tasks.generate.molecules import Chemist
from gmpool.tasks.generate.scores import MOST_MEASURED, DrawScorer, canonical

pytest.importorskip("rdkit")
NONE = np.zeros(QM9.width, dtype=np.uint8)
LOOSE = np.array([1, 0, 3] + [0] * 42, dtype=np.uint8)  # C.O, apart
IMPOSSIBLE = np.array([4] * 9 + [1] * 36, dtype=np.uint8)


def rows(*drawn: str | np.ndarray) -> np.ndarray:
    return np.stack([encoded(one) if isinstance(one, str) else one for one in drawn])


def test_by_hand() -> None:
    scorer = DrawScorer(QM9, frozenset({"CCO", "c1cc[nH]c1"}))
    drawn = rows("CCO", LOOSE, "OCC", "CC", IMPOSSIBLE, "C1CC1", "CC", "C1CC2C1C2")
    found = scorer.score(drawn)
    assert (found.draws, found.distinct) == (8, 4)
    assert (found.loose, found.strict) == (100 * 7 / 8, 100 * 6 / 8)
    assert found.unique == pytest.approx(100 * 4 / 6)
    assert (found.novel, found.vun) == (75.0, 100 * 3 / 8)
    assert found.rings == [4, 1, 1, 0, 0, 0, 0]
    valid = scorer.first_valid(drawn, 100)
    assert valid == ["CCO", "CCO", "CC", "C1CC1", "CC", "C1CC2CC12"]
    values = [scorer.measured("logp", text) for text in valid]
    assert values[:3] == pytest.approx([-0.0014, -0.0014, 1.0262])
    assert found.logp == pytest.approx(sum(values) / 6)
    assert 0 < found.qed < 1 <= found.sa <= 10
    assert scorer.first_valid(drawn, 2) == ["CCO", "CCO"]


def test_nothing_valid() -> None:
    found = DrawScorer(QM9, frozenset()).score(rows(NONE, LOOSE, IMPOSSIBLE))
    assert (found.loose, found.strict, found.vun, found.distinct) == (200 / 3, 0.0, 0.0, 0)
    for value in (found.unique, found.novel, found.qed, found.logp, found.sa):
        assert math.isnan(value)
    assert found.rings == [0] * 7


def test_many_rings_are_counted_together() -> None:
    cubane = encoded("C12C3C4C1C5C2C3C45")
    near = np.array([[1, 2, 7, 8].count((b - a) % 9) for a, b in combinations(range(9), 2)])
    dense = np.concatenate([np.ones(9), near]).astype(np.uint8)  # nine carbons, four bonds each
    found = DrawScorer(QM9, frozenset()).score(rows(cubane, dense))
    assert found.strict == 100.0
    assert found.rings == [0, 0, 0, 0, 0, 1, 1]


def test_properties_are_of_the_first_valid_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MEASURED", 2)
    scorer = DrawScorer(QM9, frozenset())
    first, both = scorer.score(rows(LOOSE, "CC", "CCO")), scorer.score(rows("CC", "CCO", "CF"))
    assert (first.qed, first.logp, first.sa) == (both.qed, both.logp, both.sa)
    assert MOST_MEASURED == 1000


def test_the_whole_is_the_product_of_its_parts() -> None:
    generator = np.random.default_rng(0)
    known = rows("CCO", "CC", "CF", "C1CC1", "c1cc[nH]c1", LOOSE, IMPOSSIBLE, "N#CC#N")
    scorer = DrawScorer(QM9, frozenset(canonical(["CCO", "c1cc[nH]c1"])))
    for _ in range(20):
        found = scorer.score(known[generator.integers(len(known), size=30)])
        product = found.strict * found.unique * found.novel / 100**2
        assert found.vun == pytest.approx(product)
        assert sum(found.rings) == round(found.strict * found.draws / 100)


def test_canonical_smiles_are_those_of_drawn_molecules() -> None:
    assert canonical(["OCC", "C/C=C/C", "N[C@@H](C)O"]) == ["CCO", "CC=CC", "CC(N)O"]
    imidazoles = canonical(["Cc1c[nH]cn1", "Cc1cnc[nH]1"])
    assert len(set(imidazoles)) == 1, "bonds do not tell tautomers apart"
    assert imidazoles[:1] == list(DrawScorer(QM9, frozenset()).smiles(rows("Cc1cnc[nH]1")))
    with pytest.raises(DataError, match="cannot read the SMILES 'C1C'"):
        canonical(["C", "C1C"])


@pytest.mark.data
def test_molecules_of_qm9_come_back(data_root: Path) -> None:
    """All that have no charge and two atoms with GMPOOL_WHOLE_QM9=1, else 3,000 at random."""
    from rdkit import Chem

    with gzip.open(data_root / "qm9.csv.gz", "rt") as file:
        smiles = file.read().split()[1:]
    if not os.environ.get("GMPOOL_WHOLE_QM9"):
        smiles = random.Random(0).sample(smiles, 3000)
    fitting = []
    for text in smiles:
        atoms = Chem.MolFromSmiles(text).GetAtoms()
        if len(atoms) > 1 and not any(atom.GetFormalCharge() for atom in atoms):
            fitting.append(text)
    assert len(fitting) > 0.98 * len(smiles)
    assert len(fitting) == 132_037 or len(smiles) == 3000
    found = DrawScorer(QM9, frozenset()).smiles(np.stack([encoded(text) for text in fitting]))
    assert list(found) == canonical(fitting)


def test_a_copy_in_another_process_scores_alike() -> None:
    scorer = DrawScorer(QM9, frozenset({"CC"}))
    drawn = rows("CC", "CCO", LOOSE)
    assert pickle.loads(pickle.dumps(scorer)).score(drawn) == scorer.score(drawn)


def test_what_was_read_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, drawn = DrawScorer(QM9, frozenset()), rows("CC", LOOSE, "CCO")
    before = scorer.score(drawn)

    def never(*_: object) -> None:
        raise AssertionError("a row is read once")

    monkeypatch.setattr(Chemist, "loose", never)
    monkeypatch.setattr(module, "MEASURES", {})
    assert scorer.score(drawn[[2, 0, 1]]).loose == before.loose
    with pytest.raises(AssertionError, match="read once"):
        scorer.score(rows("CF"))


def test_mistakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scorer = DrawScorer(QM9, frozenset())
    with pytest.raises(DataError, match="no molecule was drawn"):
        scorer.score(np.zeros((0, QM9.width), dtype=np.uint8))
    with pytest.raises(DataError, match=r"must be uint8 \[M, 45\] .* got uint8 \[1, 44\]"):
        scorer.score(np.zeros((1, 44), dtype=np.uint8))
    with pytest.raises(DataError, match=r"kinds of this alphabet, got uint8 \[1, 45\]"):
        scorer.score(np.full((1, 45), 5, dtype=np.uint8))
    with pytest.raises(DataError, match="got int64"):
        scorer.first_valid(np.zeros((1, 45), dtype=np.int64), 1)
    monkeypatch.setattr("rdkit.RDConfig.RDContribDir", str(tmp_path))
    module._sa_module.cache_clear()
    with pytest.raises(UserError, match=r"sascorer\.py, which this build of RDKit lacks"):
        scorer.measured("sa", "CC")
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingPackage, match="reading SMILES needs the package 'rdkit'"):
        canonical(["C"])
