"""What molecules are paid for."""

from __future__ import annotations

import numpy as np
import pytest
from molecule_rows import QM9, encoded

from gmpool.errors import UserError
from gmpool.tasks.generate.rewards import REWARDS, rewards
from gmpool.tasks.generate.scores import DrawScorer

pytest.importorskip("rdkit")
SCORER = DrawScorer(QM9, frozenset())
APART = np.array([1, 0, 3] + [0] * 42, dtype=np.uint8)
DRAWN = np.stack([encoded("CCO"), APART, encoded("c1ccccc1"), *[encoded("OCC")] * 4])


def test_by_hand() -> None:
    valid = np.array([1, 0, 1, 1, 1, 1, 1.0])
    np.testing.assert_array_equal(rewards(SCORER, DRAWN, ["validity"]), valid)
    np.testing.assert_allclose(
        rewards(SCORER, DRAWN, ["unique"]), [0.95, 0, 1, 0.95, 0.95, 0.95, 0.95]
    )
    logp = rewards(SCORER, DRAWN, ["logp"])
    assert logp[0] == pytest.approx((-0.0014 + 2.12) / (6.04 + 2.12))
    assert logp[2] == pytest.approx((1.6866 + 2.12) / (6.04 + 2.12))
    sa = rewards(SCORER, DRAWN, ["sa"])
    assert sa[0] == pytest.approx((5 - SCORER.measured("sa", "CCO")) / 3.5)
    assert sa[2] == 1.0, "easier than 1.5"
    assert rewards(SCORER, DRAWN, ["qed"])[2] == SCORER.measured("qed", "c1ccccc1")


def test_what_is_out_of_reach_is_worth_nothing() -> None:
    assert SCORER.measured("sa", "C") > 5
    assert rewards(SCORER, encoded("C")[None], ["sa"]) == [0.0]


def test_they_are_multiplied() -> None:
    each = [rewards(SCORER, DRAWN, [name]) for name in REWARDS]
    found = rewards(SCORER, DRAWN, list(REWARDS))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.prod(each, axis=0))
    assert all(((some >= 0) & (some <= 1)).all() and some[1] == 0 for some in each)


def test_an_unknown_name() -> None:
    with pytest.raises(UserError, match=r"unknown reward 'qeed'; did you mean 'qed'\?"):
        rewards(SCORER, DRAWN, ["sa", "qeed"])
