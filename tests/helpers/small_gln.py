"""Small GLNs in float64, one for every pooling, and reactions for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.prepared import Prepared
from gmpool.tasks.retrosynthesis.settings import GLNConfig, GLNTrainConfig
from gmpool.tasks.retrosynthesis.task import Retrosynthesis, shape_of

LINES: dict[str, dict[str, Any]] = {
    "mean": {"method": "mean"},
    "sum": {"method": "sum"},
    "max": {"method": "max"},
    "set2set": {"method": "set2set"},
    "mincut": {"method": "mincut", "pool": {"num_clusters": 2}},
    "gmpool over nodes": {"method": "gmpool", "pool": {"num_heads": 2}},
    "gmpool over seeds": {"method": "gmpool", "pool": {"num_heads": 2, "softmax": "seeds"}},
    "gmt": {"method": "gmt", "pool": {"num_heads": 2, "num_seeds": 2}},
}
"""Every pooling, by what a table would call it."""
TRAIN = GLNTrainConfig(batch_size=4, lr=1e-2, epochs=2, epoch_steps=6)


def config_of(**settings: Any) -> GLNConfig:
    return GLNConfig(**{"method": "mean", "message_dim": 5, "embed_dim": 6, **settings})


def small_gln(dataset: Reactions, seed: int = 0, **settings: Any) -> GLN:
    torch.manual_seed(seed)
    model = GLN(shape_of(dataset), config_of(**settings)).double()
    with torch.no_grad():
        for bilinear in model.bilinear:
            bilinear.weight.mul_(100)  # so that no two scores are nearly equal
    return model


class DoubleRetrosynthesis(Retrosynthesis):
    """The task with models in float64."""

    def build(self, dataset: Reactions, model: GLNConfig) -> GLN:
        return super().build(dataset, model).double()


def each_in_all_parts(prepared: Prepared) -> Prepared:
    """The reactions that some template makes, each to learn from, to validate and to test."""
    known = Reactions.of(prepared).lists.learnable.numpy()
    arrays = dict(prepared.arrays)
    for name in [name for name in arrays if name.startswith("reactions.")]:
        arrays[name] = np.tile(arrays[name][known], 3)
    arrays["reactions.part"] = np.repeat(np.arange(3, dtype=np.uint8), int(known.sum()))
    return replace(prepared, arrays=arrays)
