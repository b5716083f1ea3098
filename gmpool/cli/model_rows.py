"""What `gmpool predict` and `gmpool embed` have in common: rows of new data with what a saved model
makes of them, here or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import gmpool
from gmpool.cli.arguments import cluster_for, worker_count
from gmpool.cli.made_rows import Maker
from gmpool.cli.new_data import new_data
from gmpool.cli.rows_on_cluster import write_on
from gmpool.engine.checkpoint import Saved, load_model
from gmpool.engine.device import usable_device
from gmpool.errors import UserError
from gmpool.tasks.predictions import Predictions

AUTO = "auto"


class Where(NamedTuple):
    """It is made: as the options of a command say."""

    workers: str
    device: str
    executor: str | None
    address: str | None


@dataclass(frozen=True)
class _Made:
    """By a model, with a method of it: "predict" or "embed"."""

    saved: Saved
    method: str
    root: Path | None
    workers: int
    options: Mapping[str, Any]

    def __call__(self, source: str, done: int) -> Predictions:
        make = getattr(self.saved, self.method)
        found: Predictions = make(
            source, self.root, workers=self.workers, done=done, **self.options
        )
        return found


def write_rows(
    method: str,
    what: str,
    model: Path,
    dataset: list[str],
    output: Path | None,
    data: Path | None,
    options: Mapping[str, Any],
    where: Where,
    *,
    skip_bad_rows: bool,
) -> None:
    """what: a row gets one, such as prediction."""
    given, cluster = new_data(dataset, output, data), cluster_for(where.executor, where.address)
    if cluster and where.workers != AUTO:
        raise UserError("--workers is for this machine; a cluster has as many as its nodes say")
    if cluster and where.device not in (AUTO, "cpu"):
        raise UserError(f"--device {where.device} is for this machine; a cluster does it by CPUs")
    options = {**options, "device": "cpu" if cluster else usable_device(where.device)}
    saved, workers = load_model(model), 1 if cluster else worker_count(where.workers)
    asked = {**options, "skip_bad_rows": skip_bad_rows}
    origin = {"model": saved.digest, "options": asked, "version": gmpool.__version__}
    maker = Maker(_Made(saved, method, data, workers, options), origin, what, skip_bad_rows)
    if cluster:
        write_on(cluster, given, maker)
    else:
        maker.write_all(given)
