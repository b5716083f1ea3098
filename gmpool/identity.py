"""The identity of a run: one function makes its key, whoever asks.

A run is a pure function of its task, data, split, seed, and settings. Settings that are the default
are left out of the key, so that a new one whose default keeps the old behaviour changes no key.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

Settings = dict[str, Any]


def run_key(
    *, task: str, data_digest: str, split_digest: str, seed: int, settings: Settings
) -> str:
    """Equal for equal runs. task: the family; settings: as `settings_of` gives them."""
    whole = {
        "task": task,
        "data": data_digest,
        "split": split_digest,
        "seed": seed,
        "settings": settings,
    }
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def settings_of(
    config: Mapping[str, Mapping[str, Any]],
    defaults: Mapping[str, Mapping[str, Any]],
    method_defaults: Mapping[str, Any],
) -> Settings:
    """What is not the default, by one name each: train.lr, hidden_dim, pool.num_heads; the method
    is always there.

    config: {"model": …, "train": …} as rows have it; defaults: the same of a task's configurations.
    A setting that a row is too old to have counts as its default.
    """
    model = dict(config["model"])
    pool = model.pop("pool", {})
    found = {"method": model.pop("method")}
    found |= {f"pool.{k}": v for k, v in pool.items() if v != method_defaults.get(k, _NONE)}
    found |= {k: v for k, v in model.items() if v != defaults["model"].get(k, _NONE)}
    train = config["train"].items()
    found |= {f"train.{k}": v for k, v in train if v != defaults["train"].get(k, _NONE)}
    return found


_NONE = object()
