"""Rows as the run store gives them, without training."""

from __future__ import annotations

from typing import Any


def row(**values: Any) -> dict[str, Any]:
    return {
        "key": "k",
        "dataset": "MUTAG",
        "method": "gmt",
        "metric": "accuracy",
        "seed": 42,
        "fold": 1,
        "test": 80.0,
        "valid": 75.0,
        "epochs": 3,
        "seconds": 61.5,
        "parameters": 12345,
        "curve": {
            "train_loss": [0.7, 0.6, 0.5],
            "valid_loss": [0.7, 0.65, 0.66],
            "valid_metric": [50.0, 60.0, 75.0],
        },
        "config": {"model": {"method": "gmt", "hidden_dim": 8, "pool": {}}, "train": {"lr": 0.1}},
        "data_digest": "d",
        "split_digest": f"split of fold {values.get('fold', 1)}",
        "commit": "abc",
        "versions": {"python": "3.11", "torch": "2.9"},
        "device": "a CPU",
        **values,
    }
