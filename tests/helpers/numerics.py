"""Every method under numbers that are none, too large, or too few: it succeeds, or says so.

`attack(method, seed)` picks one of KINDS and one of DTYPES by the seed and raises where a method
neither succeeds nor raises an error of ours, or where it makes of finite numbers others.
"""

from __future__ import annotations

import random
from typing import Any

import torch
from graphs import Batch, random_batch

from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.pool.method import GraphSizes

WIDTH = 4
SIZES = GraphSizes(6.0, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12))
KINDS = {
    "ordinary": [5, 3],
    "nan": [5, 3],
    "infinite": [5, 3],
    "huge": [5, 3],
    "no graphs": [],
    "no nodes": [0, 0],
    "an empty graph": [4, 0, 3],
    "an empty graph at the end": [4, 0],
    "one node": [1],
    "no edges": [4, 2],
    "all equal": [5, 4],
    "all zero": [5, 4],
}
WILD = {"nan": float("nan"), "infinite": float("inf"), "huge": 1e20}
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "asap": [{"add_self_loops": True}],
    "edgepool": [{"score": "tanh"}, {"score": "sigmoid"}],
    "gmt": [
        {"later_adjacency": "coarsened"},
        {"softmax": "nodes", "preset": "paper"},
        {"conv": "gin", "num_heads": 2, "blocks": "SelfAtt-GMPool_G"},
        {"conv": None},
    ],
    "sortpool": [{"ties": "position"}],
    "structpool": [{"hops": 2}, {"readout": "convolution"}, {"rounds": 0}],
}


def attack(method: str, seed: int) -> None:
    """One attack, whose kind, type and numbers are drawn by the seed."""
    draw = random.Random(seed)
    kind, dtype = draw.choice(list(KINDS)), draw.choice(DTYPES)
    attack_by(method, kind, dtype, seed, **draw.choice([{}, *OPTIONS.get(method, [])]))


def attack_by(method: str, kind: str, dtype: torch.dtype, seed: int = 0, **options: Any) -> None:
    """One attack of this kind."""
    batch = _batch(kind, dtype, seed)
    torch.manual_seed(seed)
    pool = METHODS[method](WIDTH, 8, sizes=SIZES, **options).to(dtype)
    x = batch.x.requires_grad_()
    try:
        pooled = pool(x, batch.edge_index, batch.batch, batch_size=batch.size)
        loss = pooled.x.float().square().sum() + sum(v.float() for v in pooled.losses.values())
        loss.backward()
    except UserError:
        assert kind in WILD or kind in ("no graphs", "no nodes"), "there was nothing to refuse"
        return
    rows = pooled.x.shape[0] if METHODS[method].architecture == "global" else None
    assert rows in (None, batch.size), f"{rows} rows for {batch.size} graphs"
    if kind not in WILD:
        named = {"output": pooled.x, "x": x.grad, **pooled.losses}
        named |= {name: p.grad for name, p in pool.named_parameters()}
        for name, tensor in named.items():
            assert tensor is None or tensor.isfinite().all(), f"{name} is not finite"


def _batch(kind: str, dtype: torch.dtype, seed: int) -> Batch:
    sizes = KINDS[kind]
    if sizes:
        batch = random_batch(sizes, WIDTH, seed=seed, density=0.0 if kind == "no edges" else 0.5)
    else:
        nothing = torch.zeros(0, dtype=torch.long)
        batch = Batch(torch.zeros(0, WIDTH), nothing.view(1, 0).repeat(2, 1), nothing, 0)
    if kind.startswith("all"):
        batch.x.fill_(float(kind == "all equal"))
    if kind in WILD:
        batch.x[seed % 5, seed % WIDTH] = WILD[kind]
    batch.x = batch.x.to(dtype)
    return batch
