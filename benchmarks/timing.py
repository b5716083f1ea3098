"""Contestants take turns in one process, so that a busy moment of the machine hits all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from gmpool.engine.provenance import device_name, precision


def interleaved(
    contestants: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    warmup: int = 1,
    repeats: int = 1,
) -> dict[str, float]:
    """Median seconds of each contestant over the rounds; a turn is `repeats` runs in a row."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(warmup + rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            if turn >= warmup:
                times[name].append((time.perf_counter() - start) / repeats)
    return {name: statistics.median(values) for name, values in times.items()}


def row(name: str, ours: float, peer: float, unit: str, **facts: Any) -> dict[str, Any]:
    """How many times ours goes into the peer; above 1 ours is better."""
    return {"name": name, "ours": ours, "peer": peer, "ratio": peer / ours, "unit": unit, **facts}


def alone(name: str, ours: float, unit: str, **facts: Any) -> dict[str, Any]:
    """A row without a peer."""
    return {"name": name, "ours": ours, "peer": None, "ratio": None, "unit": unit, **facts}


def where(device: str) -> dict[str, str]:
    """What a row says of the device that it was measured on, as it is set now."""
    return {"device": device_name(device), "precision": precision(device)}


def versus(times: dict[str, float], ours: str, what: str, **facts: Any) -> list[dict[str, Any]]:
    """One row for each peer of `ours`."""
    return [
        row(f"{what}: {ours} vs {peer}", times[ours], seconds, "s", **facts)
        for peer, seconds in times.items()
        if peer != ours
    ]
