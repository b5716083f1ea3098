"""Things that are done on a Ray cluster, of which any worker or node may be lost."""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from gmpool.engine.provenance import source_digest
from gmpool.errors import MissingPackage, UserError
from gmpool.main_module import needs_main
from gmpool.plain_text import shortened

Thing = TypeVar("Thing")

AUTO, LOCAL = "auto", "local"
PAUSES = 5.0, 45.0
"""Seconds after which a thing that was lost with its worker is done again, the first and the second
time: Ray takes half a minute to see that a node is gone, and would give it to the same one."""
LOOK = 2.0
"""Seconds after which it is looked at anew how large the cluster is."""
ANSWER = 5.0
"""Seconds that the machine of a cluster may take to answer."""


class Came(NamedTuple, Generic[Thing]):
    """What came of a thing, or the user's error that ended it, and where it was done."""

    thing: Thing
    made: Any
    node: str


@dataclass(frozen=True)
class Cluster:
    """address: "local": one of this machine's cores, which ends with this process; "auto": the one
    that this machine is a part of; else HOST:PORT of one. gpus: how many each thing is done with,
    beside one CPU.
    """

    address: str = LOCAL
    gpus: int = 0

    def connect(self) -> None:
        """Once is enough, and who is connected already stays so."""
        ray = _ray()
        if ray.is_initialized():
            return
        options = {}
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or Ray warns of it
        if self.address == LOCAL:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            options = {"include_dashboard": False}
        elif self.address != AUTO:
            _require_answer(self.address)
        try:
            ray.init(self.address, log_to_driver=False, logging_level="ERROR", **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise UserError(
                f"--address {self.address}: there is no Ray cluster ({_first_line(error)}); "
                "ray start --head begins one, and --address local has this machine alone"
            ) from error

    @property
    def slots(self) -> int:
        """How many things are done at a time, as large as the cluster is now."""
        self.connect()
        there = _ray().cluster_resources()
        return int(there.get("GPU", 0)) // self.gpus if self.gpus else int(there.get("CPU", 0))

    @property
    def has_gpus(self) -> bool:
        self.connect()
        return _ray().cluster_resources().get("GPU", 0) >= 1

    def each(
        self,
        do: Callable[[Any, Any], Any],
        shared: Any,
        things: Iterable[Thing],
        lost: Callable[[Thing, int], None] | None = None,
    ) -> Generator[Came[Thing]]:
        """``do(shared, thing)`` of each, as they come.

        shared: goes to the cluster once. things: each is taken when there is room for it. lost: is
        told of a thing whose worker or node is gone, and how often that happened to it; it is done
        again elsewhere. Whoever stops this stops what is being done.
        """
        self.connect()
        ray, content = _ray(), pickle.dumps(shared)
        if needs_main(content):
            raise UserError(
                "what a script defines itself is unknown on the nodes of a cluster: put it into a "
                "package that is installed on all of them (docs/extending.md)"
            )
        if self.gpus and not self.slots:
            raise UserError(
                "no node of the cluster has a GPU: take --device cpu, or begin nodes with "
                "ray start --num-gpus"
            )
        name, place = secrets.token_hex(8), [ray.put((source_digest(), content))]
        remote = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=0)(_do)
        todo = _Todo(things)
        running: dict[Any, tuple[Thing, int]] = {}
        names: dict[str, str] = {}
        try:
            while True:
                while len(running) < max(self.slots, 1) and (asked := todo.next()):
                    running[remote.remote(do, name, place, pickle.dumps(asked[0]))] = asked
                if not running:
                    if not todo.lost:
                        return
                    time.sleep(LOOK)
                    continue
                for reference in ray.wait([*running], timeout=LOOK)[0]:
                    thing, times = running.pop(reference)
                    made, node = _come(ray, reference)
                    if isinstance(made, _Lost) and times < len(PAUSES):
                        todo.again(thing, times + 1)
                        if lost:
                            lost(thing, times + 1)
                        continue
                    found = made.error(times + 1) if isinstance(made, _Lost) else made
                    yield Came(thing, found, _name_of(node, names))
        finally:
            for reference in running:
                with suppress(Exception):  # of a cluster that is gone
                    ray.cancel(reference, force=True)


class _Todo(Generic[Thing]):
    """Things that nobody does, with how often each was lost."""

    def __init__(self, things: Iterable[Thing]) -> None:
        self._new = iter(things)
        self.lost: list[tuple[float, Thing, int]] = []
        """Each with when its turn comes."""

    def next(self) -> tuple[Thing, int] | None:
        for number, (when, thing, times) in enumerate(self.lost):
            if when <= time.monotonic():
                del self.lost[number]
                return thing, times
        return next(((thing, 0) for thing in self._new), None)

    def again(self, thing: Thing, times: int) -> None:
        self.lost.append((time.monotonic() + PAUSES[times - 1], thing, times))


class _Lost(NamedTuple):
    why: str

    def error(self, times: int) -> UserError:
        return UserError(
            f"was lost with its worker {times} times, for want of memory perhaps ({self.why}); the "
            "same command tries again"
        )


def _come(ray: Any, reference: Any) -> tuple[Any, tuple[str, str]]:
    """What a task has made, or the user's error that it ended with; and its node."""
    try:
        answer, node = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise UserError(
            f"a node of the cluster cannot begin ({_first_line(error)}); gmpool, and Python of one "
            "version, must be installed on every node"
        ) from error
    except ray.exceptions.RayError as error:
        return _Lost(f"{type(error).__name__}: {_first_line(error)}"), ("", "")
    made, wrong = pickle.loads(answer)
    if wrong is not None and not isinstance(wrong, UserError):
        raise wrong
    return (made if wrong is None else wrong), node


_known: dict[str, Any] = {}
"""In a worker: what its tasks share, by name; the last one alone."""


def _do(do: Callable[[Any, Any], Any], name: str, place: list[Any], thing: bytes) -> Any:
    """In a worker."""
    node = socket.gethostname(), _ray().get_runtime_context().get_node_id()
    try:
        if name not in _known:
            source, content = _ray().get(place[0])
            _require_same(source, node[0])
            _known.clear()
            _known[name] = pickle.loads(content)
        return pickle.dumps((do(_known[name], pickle.loads(thing)), None)), node
    except Exception as error:
        if not isinstance(error, UserError):
            error.add_note(f"on {node[0]}:\n{traceback.format_exc()}")
        return pickle.dumps((None, error)), node


def _require_same(source: str, node: str) -> None:
    if source != source_digest():
        raise UserError(
            f"node {node} has another gmpool (source {source_digest()}) than the command (source "
            f"{source}): install the same on every node"
        )


def _name_of(node: tuple[str, str], names: dict[str, str]) -> str:
    """Of the machine; further nodes on it are numbered. names: those that were given, by node."""
    host, number = node
    taken = sum(name == host or name.startswith(f"{host} ") for name in names.values())
    return names.setdefault(number, f"{host} ({taken + 1})" if taken else host)


def _require_answer(address: str) -> None:
    """Ray itself would wait for a minute and more."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 2**16):
        raise UserError(f"--address takes auto, local or HOST:PORT, got {shortened(address)!r}")
    try:
        socket.create_connection((host, int(port)), ANSWER).close()
    except OSError as error:
        raise UserError(
            f"--address {address}: nobody answers there ({error}); ray start --head says the "
            "address of a cluster"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return shortened(lines[0]) if lines else type(error).__name__


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingPackage("ray", "ray", "a cluster") from error
    return ray


def tally(done: Mapping[str, int]) -> str:
    """How much was done on which node, in words."""
    return ", ".join(f"{node}: {count:,}" for node, count in done.items())
