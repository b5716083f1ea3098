"""What workers of a Ray cluster are asked to do, and clusters of several nodes on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gmpool.errors import UserError

HERE = str(Path(__file__).parent)


@contextmanager
def nodes(count: int) -> Iterator[Any]:
    """A cluster of so many nodes with a CPU each; its attribute `address` is what it says."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", HERE)  # of workers, who inherit it
        patch.setenv("RAY_worker_niceness", "0")  # other tests work beside them
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_health_check_initial_delay_ms", "500")
        patch.setenv("RAY_health_check_period_ms", "500")
        patch.setenv("RAY_health_check_timeout_ms", "500")
        patch.setenv("RAY_health_check_failure_threshold", "2")
        node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
        cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        try:
            for _ in range(count - 1):
                cluster.add_node(**node)
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def product(factor: int, number: int) -> int:
    return factor * number


def slow_product(factor: int, number: int) -> int:
    time.sleep(0.5)
    return factor * number


def numbered(_: None, number: int) -> tuple[int, str]:
    """With the node that does it."""
    import ray

    time.sleep(1)
    return number, ray.get_runtime_context().get_node_id()


def fail(shared: object, how: str) -> None:
    raise UserError("not this one") if how == "user" else KeyError("a defect")


def die(times: int, folder: Path) -> str:
    """So many times, as if for want of memory."""
    before = len(list(folder.iterdir()))
    if before < times:
        (folder / str(before)).touch()
        os._exit(1)
    return "done"
