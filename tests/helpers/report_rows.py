"""Rows as the run store gives them, without training."""

from __future__ import annotations

from typing import Any

from gmpool.record import Row

CURVE = {
    "train_loss": [0.7, 0.6, 0.5],
    "valid_loss": [0.7, 0.65, 0.66],
    "valid_metric": [50.0, 60.0, 75.0],
}


def row(**values: Any) -> Row:
    method = values.get("method", "gmt")
    return Row.from_json(
        {
            "key": "k",
            "task": "classify",
            "dataset": "MUTAG",
            "method": method,
            "metric": "accuracy",
            "seed": 42,
            "fold": 1,
            "test": 80.0,
            "valid": 75.0,
            "valid_loss": 0.66,
            "best_epoch": 2,
            "epochs": 3,
            "seconds": 61.5,
            "parameters": 12345,
            "curve": CURVE,
            "config": settings(),
            "data_digest": "d",
            "split_digest": f"split of fold {values.get('fold', 1)}",
            "commit": "abc",
            "versions": {"python": "3.11", "torch": "2.9"},
            "device": "a CPU",
            **values,
        }
    )


def settings(pool: dict[str, Any] | None = None, **model: Any) -> dict[str, Any]:
    """What a row has as its config."""
    model = {"method": "gmt", "hidden_dim": 8, "pool": pool or {}, **model}
    return {"model": model, "train": {"lr": 0.1}}
