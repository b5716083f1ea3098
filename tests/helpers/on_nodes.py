"""What workers of a Ray cluster are asked to do, and clusters of several nodes on this machine."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gmpool.engine.executors import ray_tasks
from gmpool.errors import UserError
from gmpool.tasks.predictions import Answer, Predictions

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


def soon(patch: pytest.MonkeyPatch) -> None:
    """What is lost is done again in a moment."""
    patch.setattr(ray_tasks, "PAUSES", (0.1, 1.0))
    patch.setattr(ray_tasks, "LOOK", 0.2)


def product(factor: int, number: int) -> int:
    return factor * number


def slow_product(factor: int, number: int) -> int:
    time.sleep(0.5)
    return factor * number


def end_a_node(shared: tuple[Path, str], number: int) -> int:
    """Once, and not the first of the cluster, with which all would end."""
    import ray

    (folder, head), here = shared, ray.get_runtime_context().get_node_id()
    time.sleep(0.2)
    if here != head and not any(folder.iterdir()):
        (folder / str(number)).touch()
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(1)
    return number


def fail(shared: object, how: str) -> None:
    raise UserError("not this one") if how == "user" else KeyError("a defect")


def die(times: int, folder: Path) -> str:
    """So many times, as if for want of memory."""
    before = len(list(folder.iterdir()))
    if before < times:
        (folder / str(before)).touch()
        os._exit(1)
    return "done"


class Lengths:
    """Says of each line of a file how long it is; the first that reads `deadly` dies of it."""

    def __init__(self, folder: Path, deadly: str) -> None:
        self.folder, self.deadly = folder, deadly

    def __call__(self, source: str, done: int) -> Predictions:
        time.sleep(0.2)
        (self.folder / f"{Path(source).name}-{time.time_ns()}").touch()
        if Path(source).name == self.deadly and len([*self.folder.glob(f"{self.deadly}-*")]) == 1:
            os._exit(1)
        lines = Path(source).read_text().split()
        if "?" in lines:
            raise UserError(f"{source}: not of this kind")
        answers = [Answer([line], source, [len(line)], None) for line in lines]
        return Predictions.beside(["smiles"], {"length": float}, [answers], len(lines))
