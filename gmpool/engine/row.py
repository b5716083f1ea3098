"""What is recorded of a finished run."""

import math
from collections.abc import Sequence
from typing import Any

from gmpool.engine.job import Job, Run
from gmpool.engine.provenance import commit, device_name, precision, source_digest, versions
from gmpool.engine.train import Trained
from gmpool.engine.training import Epoch
from gmpool.record import Row
from gmpool.report.metrics import METRICS

MOST_POINTS = 500
"""Of a recorded learning curve: a graph alone has up to 10,000 epochs."""
CURVES = ("train_loss", "valid_loss", "valid_metric")


def finished_row(job: Job, run: Run, trained: Trained, device: str) -> Row:
    """With what the task has to say of it, which is where the test part is seen."""
    best, split = trained.best, job.split(run)
    metric = job.task.metric(job.dataset, job.model)
    # What was not trained by steps is computed on the CPU, whatever was asked.
    used = device if trained.curve else "cpu"
    by_loss = job.train.select_by == "loss" or math.isnan(best.valid_metric)
    sign = 1 if METRICS[metric].higher else -1
    return Row(
        key=run.key, task=job.task.family, dataset=job.name, method=job.model.method,
        seed=run.seed, fold=run.fold, metric=metric,
        test=_number(trained.test_metric), valid=_number(best.valid_metric),
        valid_loss=_number(best.valid_loss), best_epoch=best.epoch, epochs=len(trained.curve),
        seconds=round(trained.seconds, 3), parameters=trained.model.num_parameters,
        config=job.config, data_digest=job.card.digest, split_digest=split.digest,
        commit=commit(), source=source_digest(), versions=versions(),
        device=device_name(used), precision=precision(used), replicas=trained.replicas,
        curve=curve_of(trained.curve),
        more={
            **_split_of(job.dataset),
            **({"ranks": trained.ranks} if trained.ranks > 1 else {}),
            "selection_score": _number(-best.valid_loss if by_loss else sign * best.valid_metric),
            **_finite(trained.watched),
            **_finite(job.task.scores(trained.model, job.dataset, trained.outputs, split)),
            **_finite(job.task.finish(trained.model, job.dataset, split, device)),
        },
    )  # fmt: skip


def _split_of(dataset: Any) -> dict[str, Any]:
    """How the split was made or named; sets of other tasks and packages may say nothing."""
    kind = getattr(dataset, "split_kind", None)
    return {"split": dict(kind)} if kind else {}


def curve_of(curve: Sequence[Epoch]) -> dict[str, Any]:
    """The learning curve, of a long one every so-many-th point."""
    every = max(1, -(-len(curve) // MOST_POINTS))
    points = curve[::every]
    return {
        **({"every": every} if every > 1 else {}),
        **{name: [_short(getattr(e, name)) for e in points] for name in CURVES},
    }


def _number(value: float) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if math.isfinite(value) else None


def _finite(value: Any) -> Any:
    """The same of all numbers inside."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return _number(value) if isinstance(value, float) else value


def _short(value: float) -> float | None:
    """Five significant digits suffice to draw a curve."""
    return float(f"{value:.5g}") if math.isfinite(value) else None
