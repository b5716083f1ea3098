"""The chains of the sets that were used last: a set is clustered once, not in every batch."""

from __future__ import annotations

import torch

from gmpool.data.packed import PackedGraphs
from gmpool.pool.haarpool.chain import Chain
from gmpool.pool.haarpool.chain_cache import cached_chain

MOST = 8

_made: dict[tuple[str, int, torch.device], Chain] = {}


def chain_of(graphs: PackedGraphs, levels: int) -> Chain:
    """The chain of a set, where the set lies; its copies on other devices share what was made."""
    home, here = ((graphs.digest, levels, d) for d in (torch.device("cpu"), graphs.device))
    if here not in _made:
        chain = _made.get(home) or _remember(home, cached_chain(graphs, levels))
        if here != home:
            _remember(here, tuple(level.to(graphs.device) for level in chain))
    return _made[here]


def _remember(key: tuple[str, int, torch.device], chain: Chain) -> Chain:
    """In place of the oldest, where there are many."""
    if len(_made) == MOST:
        del _made[next(iter(_made))]
    _made[key] = chain
    return chain
