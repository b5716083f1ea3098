"""Runs on a cluster of several nodes: the rows of runs alone, whoever is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from on_nodes import nodes, soon
from small_jobs import Log, job, timeless
from small_sets import dataset

from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.on_ray import OnRay
from gmpool.engine.executors.ray_tasks import Cluster
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.run_jobs import Failure, run_jobs
from gmpool.engine.store import RunStore
from gmpool.errors import UserError


@pytest.fixture(scope="module")
def three() -> Iterator[Any]:
    with nodes(3) as found:
        yield found


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    soon(monkeypatch)


class Killer(Log):
    """A watcher who has a node killed after five runs."""

    def __init__(self, cluster: Any) -> None:
        super().__init__()
        self.cluster, (*_, self.node) = cluster, cluster.worker_nodes
        self.timer: Timer | None = None

    def placed(self, runs: Any) -> None:
        super().placed(runs)
        if sum(runs.values()) >= 5 and self.timer is None:
            self.timer = Timer(
                0.1, self.cluster.remove_node, [self.node], {"allow_graceful": False}
            )
            self.timer.start()


def test_stacks_are_tasks(three: Any, tmp_path: Path) -> None:
    asked = [job("mean", folds=3, seeds=2)]
    log = Log()
    executor = OnRay(Cluster(three.address), replicas=3)
    found = run_jobs(asked, RunStore(tmp_path / "ray"), executor, watcher=log)
    stacked = run_jobs(asked, RunStore(tmp_path / "here"), Stacked("cpu", 3))
    assert timeless(found) == timeless(stacked)
    assert {row.replicas for row in found} == {3}
    assert sum(log.places.values()) == 6


def test_what_fails_is_reported_and_the_others_are_done(three: Any, tmp_path: Path) -> None:
    asked, failures = [job("mean", seeds=1, lr=1e30), job("gin", seeds=1)], list[Failure]()
    executor = OnRay(Cluster(three.address))
    rows = run_jobs(asked, RunStore(tmp_path), executor, failures=failures)
    assert [(each.job, each.runs) for each in failures] == [(asked[0], 2)]
    assert {row.method for row in rows} == {"gin"}


def test_forty_runs_are_those_of_one_machine_though_a_node_is_killed(
    three: Any, tmp_path: Path
) -> None:
    """To the last bit, and each once."""
    data = dataset(30, 10)
    asked = [job(method, data, folds=10, seeds=2, epochs=6) for method in ("gmt", "mean")]
    killer, store = Killer(three), RunStore(tmp_path / "ray")
    found = run_jobs(asked, store, OnRay(Cluster(three.address)), watcher=killer)
    assert killer.timer is not None
    assert len(found) == len(killer.runs) == 40
    assert len((tmp_path / "ray" / "rows.jsonl").read_text().splitlines()) == 40
    alone = run_jobs(asked, RunStore(tmp_path / "alone"), Alone())
    assert timeless(found) == timeless(alone)
    killer.timer.join()
    assert Cluster(three.address).slots == 2
    assert run_jobs(asked, store, Alone(), watcher=None) == found


def test_a_cluster_is_not_asked_for_gpus_that_it_has_not(three: Any) -> None:
    executor = OnRay(Cluster(three.address, gpus=1))
    asked = job("mean")
    with pytest.raises(UserError, match="no node of the cluster has a GPU"):
        list(executor.run([(asked, asked.runs)], None))  # type: ignore[list-item]
