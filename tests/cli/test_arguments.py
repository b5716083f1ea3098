"""The way to run that the options of a command ask for, and words turned into devices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gmpool.cli.arguments import cluster_for, executor_for, way_for
from gmpool.engine.executors.executor import Alone, Executor
from gmpool.engine.executors.on_ray import OnRay
from gmpool.engine.executors.processes import Processes, usable_cores
from gmpool.engine.executors.ray_tasks import Cluster
from gmpool.engine.executors.stacked import Stacked
from gmpool.errors import UserError
from gmpool.options import settings_from


@pytest.fixture(autouse=True)
def own_precision() -> Iterator[None]:
    """What the options set is set back."""
    before = torch.backends.cuda.matmul.allow_tf32
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("cpu", None, None), Alone("cpu")),
        (("cpu", "1", None), Alone("cpu")),
        (("cpu", "3", None), Stacked("cpu", 3, None)),
        (("cpu", "auto", None), Stacked("cpu", None, None)),
        (("cuda", None, None), Stacked("cuda", None, None)),
        (("cuda", None, None, 2), Stacked("cuda", None, 2)),
        (("cuda:1", "8", None, 3), Stacked("cuda:1", 8, 3)),
        (("cuda:1", "1", None), Alone("cuda:1")),
        (("cpu", None, "1"), Alone("cpu")),
        (("cpu", None, "3"), Processes(3)),
    ],
)
def test_a_cpu_does_one_at_a_time_and_a_gpu_as_many_as_it_holds(
    asked: tuple[Any, ...], expected: Executor
) -> None:
    assert executor_for(*asked) == expected


def test_as_many_workers_as_cores() -> None:
    cores = usable_cores()
    assert cores >= 1
    assert executor_for("cpu", None, "auto") == (Processes(cores) if cores > 1 else Alone("cpu"))


def test_models_of_several_trainings_take_all_cores_unless_somebody_says_otherwise() -> None:
    assert executor_for("cpu", None, None, joined=True) == executor_for("cpu", None, "auto")
    assert executor_for("cpu", None, "1", joined=True) == Alone("cpu")
    assert executor_for("cpu", "1", None, joined=True) == Alone("cpu")
    assert executor_for("cuda", None, None, joined=True) == Stacked("cuda", None, None)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("cuda", None, "2"), "--workers is for the CPU; this runs on cuda: use --replicas there"),
        (("cpu", "auto", "2"), "--workers and --replicas are two ways to do many runs at once"),
        (("cpu", None, "0"), "--workers takes auto or a number from 1 to 9,999, got '0'"),
        (("cpu", None, "1.5"), "--workers takes auto or a number from 1 to 9,999, got '1.5'"),
        (("cpu", "0", None), "--replicas takes auto or a number from 1 to 9,999, got '0'"),
        (("cpu", "-1", None), "--replicas takes auto or a number from 1 to 9,999, got '-1'"),
        (("cuda", "1", None, 2), "--replicas 1 makes none"),
        (("cuda", None, None, 0), "--side-by-side takes a number from 1 on, got 0"),
        (("cpu", None, None, 2), "--side-by-side is for a GPU; this runs on the CPU"),
        (("cpu", None, None, None, True), "--tf32 is for a GPU; this runs on the CPU"),
    ],
)
def test_what_cannot_be_is_refused(asked: tuple[Any, ...], said: str) -> None:
    with pytest.raises(UserError) as error:
        executor_for(*asked)
    assert said in str(error.value)


def test_a_cluster_is_asked_for_by_name() -> None:
    assert cluster_for(None, None) is None
    assert cluster_for("ray", None) == Cluster("auto")
    assert cluster_for("ray", "local") == Cluster("local")
    with pytest.raises(UserError, match="unknown executor 'rya'; did you mean 'ray'"):
        cluster_for("rya", None)
    with pytest.raises(UserError, match="--address here:1 is of a cluster: say --executor ray"):
        cluster_for(None, "here:1")


def test_on_a_cluster_a_run_has_a_cpu_and_a_stack_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"CPU": 8.0, "GPU": 2.0}
    monkeypatch.setattr(Cluster, "slots", property(lambda self: 2 if self.gpus else 8))
    monkeypatch.setattr(Cluster, "has_gpus", property(lambda self: there["GPU"] > 0))
    ray = Cluster("auto")
    way = way_for("auto", None, None, cluster=ray, store=Path("runs"))
    assert (way.executor, way.workers, way.where) == (OnRay(Cluster("auto", 1)), 2, "")
    there["GPU"] = 0.0
    way = way_for("auto", "4", None, cluster=ray, store=Path("runs"))
    assert (way.executor, way.workers) == (OnRay(ray, 4), 8)
    assert way.where.endswith("1 thread")
    for asked, said in (
        ({"workers": "2"}, "--workers is for this machine"),
        ({"side_by_side": 2}, "--side-by-side is for this machine"),
        ({"tf32": True}, "--tf32 is for a GPU"),
        ({"device": "cuda:1"}, "--device takes cpu, cuda or auto on a cluster, got 'cuda:1'"),
    ):
        options: dict[str, Any] = {"device": "auto", "replicas": None, "workers": None, **asked}
        with pytest.raises(UserError, match=said):
            way_for(**options, cluster=ray, store=Path("runs"))


def test_precision_is_what_was_asked_for() -> None:
    executor_for("cuda", None, None, tf32=True)
    assert torch.backends.cuda.matmul.allow_tf32
    executor_for("cuda", None, None)
    assert not torch.backends.cuda.matmul.allow_tf32


def test_settings() -> None:
    assert settings_from(["lr=0.1", "pool.conv=none", "words=a=b", "empty="]) == {
        "lr": "0.1", "pool.conv": "none", "words": "a=b", "empty": "",
    }  # fmt: skip
    for text in ("lr", "=3", ""):
        with pytest.raises(UserError, match=f"--option takes KEY=VALUE, got '{text}'"):
            settings_from([text])
