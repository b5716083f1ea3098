"""Seed attention: K learned seeds look at the nodes of each graph, keys and values absorbed."""

from gmpool.ops.seed_attention.choice import Choice as Choice
from gmpool.ops.seed_attention.choice import choose as choose
from gmpool.ops.seed_attention.operator import one_seed as one_seed
from gmpool.ops.seed_attention.operator import seed_attention as seed_attention
from gmpool.ops.seed_attention.pytorch import seed_softmax as seed_softmax
from gmpool.ops.seed_attention.through_adjacency import (
    seed_attention_through as seed_attention_through,
)
