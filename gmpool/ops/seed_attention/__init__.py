"""Seed attention: K learned seeds look at the nodes of each graph, keys and values absorbed."""

from gmpool.ops.seed_attention.choice import Choice, choose
from gmpool.ops.seed_attention.operator import one_seed, seed_attention
from gmpool.ops.seed_attention.softmax import seed_softmax
from gmpool.ops.seed_attention.through_adjacency import seed_attention_through

__all__ = [
    "Choice",
    "choose",
    "one_seed",
    "seed_attention",
    "seed_attention_through",
    "seed_softmax",
]
