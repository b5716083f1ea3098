"""What is recorded of a finished run, whatever its task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from gmpool.config import RunSpec
from gmpool.engine.provenance import commit, device_name, versions
from gmpool.engine.store import Row
from gmpool.engine.train import Epoch, Trained
from gmpool.tasks.kernel.fit import Fitted


def run_row(spec: RunSpec, trained: Trained | Fitted, metric: str, device: str) -> Row:
    """What every row has; the curve of the training and what else a task says come beside it."""
    best = trained.best
    return {
        "key": spec.key,
        "task": spec.task,
        "dataset": spec.dataset,
        "method": spec.model.method,
        "seed": spec.seed,
        "fold": spec.fold,
        "metric": metric,
        "test": _number(trained.test_metric),
        "valid": _number(best.valid_metric),
        "valid_loss": best.valid_loss,
        "best_epoch": best.epoch,
        "epochs": len(trained.curve),
        "seconds": round(trained.seconds, 3),
        "parameters": trained.model.num_parameters,
        "config": {"model": asdict(spec.model), "train": asdict(spec.train)},
        "data_digest": spec.data_digest,
        "split_digest": spec.split_digest,
        "commit": commit(),
        "versions": versions(),
        "device": device_name(device),
        "replicas": trained.replicas,
    }


def curve_of(curve: Sequence[Epoch]) -> dict[str, list[float | None]]:
    """The learning curve, point by point."""
    return {
        "train_loss": [_short(e.train_loss) for e in curve],
        "valid_loss": [_short(e.valid_loss) for e in curve],
        "valid_metric": [_short(e.valid_metric) for e in curve],
    }


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value


def _short(value: float) -> float | None:
    """Five significant digits suffice to draw a curve."""
    return None if math.isnan(value) else float(f"{value:.5g}")
