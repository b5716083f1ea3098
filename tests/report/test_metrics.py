from __future__ import annotations

import pytest

from gmpool.errors import UserError
from gmpool.report.metrics import METRICS, with_unit


def test_units_and_directions() -> None:
    assert [with_unit(name) for name in ("accuracy", "roc_auc", "rmse", "f1")] == [
        "accuracy %", "roc_auc %", "rmse", "f1 %",
    ]  # fmt: skip
    ours = {
        "accuracy": True, "roc_auc": True, "rmse": False, "error_x": False, "error_a": False,
        "pr_auc": True, "f1": True, "mae": False, "r2": True, "nrmse": False,
    }  # fmt: skip
    assert {name: METRICS[name].higher for name in ours} == ours


def test_an_unknown_one_is_named() -> None:
    with pytest.raises(UserError, match="unknown metric 'acuracy'; did you mean 'accuracy'"):
        with_unit("acuracy")
