"""Things that are done on a cluster: all of them, whoever is lost, and nobody left behind."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from on_nodes import die, end_a_node, fail, nodes, product, slow_product, soon

from gmpool.engine.executors import ray_tasks
from gmpool.engine.executors.ray_tasks import Cluster
from gmpool.errors import MissingPackage, UserError


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with nodes(2) as found:
        yield Cluster(found.address)


def test_each_is_done_once_and_said_where(cluster: Cluster) -> None:
    assert cluster.slots == 2
    came = list(cluster.each(product, 3, range(20)))
    assert sorted((each.thing, each.made) for each in came) == [(n, 3 * n) for n in range(20)]
    assert all(each.node for each in came)


def test_things_are_taken_when_there_is_room(cluster: Cluster) -> None:
    taken: list[int] = []
    things = (taken.append(n) or n for n in range(10))  # type: ignore[func-returns-value]
    with closing(cluster.each(product, 1, things)) as came:
        next(came)
        assert len(taken) <= 4
    assert len(taken) < 10


def test_who_stops_looking_stops_what_is_done(cluster: Cluster, tmp_path: Path) -> None:
    with closing(cluster.each(slow_product, 1, range(100))) as came:
        next(came)
    assert sorted(each.made for each in cluster.each(product, 2, range(3))) == [0, 2, 4]


def test_an_error_of_the_user_is_what_came(cluster: Cluster) -> None:
    (came,) = cluster.each(fail, None, ["user"])
    assert isinstance(came.made, UserError)
    assert str(came.made) == "not this one"


def test_a_defect_is_raised_and_says_where(cluster: Cluster) -> None:
    with pytest.raises(KeyError, match="a defect") as raised:
        list(cluster.each(fail, None, ["ours"]))
    assert "KeyError" in "".join(raised.value.__notes__)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    soon(monkeypatch)


def test_what_is_lost_is_done_again_twice(cluster: Cluster, tmp_path: Path) -> None:
    told: list[int] = []
    (came,) = cluster.each(die, 2, [tmp_path], lambda _, times: told.append(times))
    assert (came.made, told) == ("done", [1, 2])


def test_what_is_lost_three_times_is_reported(cluster: Cluster, tmp_path: Path) -> None:
    (came,) = cluster.each(die, 99, [tmp_path])
    assert isinstance(came.made, UserError)
    assert "lost with its worker 3 times" in str(came.made)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_node_that_is_lost_costs_what_it_was_doing(tmp_path: Path) -> None:
    ray_tasks._ray().shutdown()
    with nodes(3) as three:
        cluster, told = Cluster(three.address), list[tuple[int, int]]()
        shared = tmp_path, three.head_node.node_id
        came = [*cluster.each(end_a_node, shared, range(12), lambda *lost: told.append(lost))]
        assert sorted(each.made for each in came) == [*range(12)]
        assert [str(thing) for thing, _ in told] == [path.name for path in tmp_path.iterdir()]
        assert {times for _, times in told} <= {1, 2}
        deadline = time.monotonic() + 60  # until Ray has seen it
        while cluster.slots != 2 and time.monotonic() < deadline:
            time.sleep(0.2)
        assert cluster.slots == 2


def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_tasks, "source_digest", lambda: "aaaa")
    with pytest.raises(UserError, match=r"node far has another gmpool \(source aaaa\) than"):
        ray_tasks._require_same("bbbb", "far")
    ray_tasks._require_same("aaaa", "far")


def test_further_nodes_of_a_machine_are_numbered() -> None:
    names: dict[str, str] = {}
    asked = [("host", "a"), ("host", "b"), ("host", "a"), ("other", "c"), ("host", "d")]
    given = [ray_tasks._name_of(each, names) for each in asked]
    assert given == ["host", "host (2)", "host", "other", "host (3)"]


@pytest.mark.parametrize("address", ["nowhere", "host:", ":80", "host:x", "host:99999"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="takes auto, local or HOST:PORT, got"):
        ray_tasks._require_answer(address)


def test_where_nobody_answers_that_is_said_at_once(closed_port: int) -> None:
    with pytest.raises(UserError, match=f"127.0.0.1:{closed_port}: nobody answers there"):
        ray_tasks._require_answer(f"127.0.0.1:{closed_port}")


@pytest.fixture
def closed_port() -> int:
    import socket

    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackage, match=r"gmpool\[ray\]"):
        Cluster().connect()


def test_a_cluster_without_gpus_is_asked_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    there = types.SimpleNamespace(is_initialized=lambda: True, cluster_resources=lambda: {"CPU": 8})
    monkeypatch.setattr(ray_tasks, "_ray", lambda: there)
    assert (Cluster().slots, Cluster(gpus=1).slots, Cluster().has_gpus) == (8, 0, False)
