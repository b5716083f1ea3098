"""Which kernels serve a seed attention follows from its shapes, and is asked once for a call."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gmpool.ops import choice
from gmpool.ops.seed_attention import choose, seed_attention
from gmpool.ops.seed_attention.choice import FEW_NODES, FEW_SLOTS, PYTORCH, TILES
from gmpool.ops.segment import Segments


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU; nothing is launched here."""
    monkeypatch.setattr(choice, "triton_serves", lambda t: t.dtype in choice.DTYPES)


@pytest.mark.parametrize(
    ("widths", "heads", "seeds", "axis", "path", "at_once"),
    [
        ([128], 1, 4, "seeds", FEW_SLOTS, 1),
        ([128], 2, 4, "seeds", FEW_SLOTS, 2),
        ([128], 1, 4, "nodes", TILES, 1),
        ([64, 64, 64], 4, 5, "seeds", TILES, 4),
        ([1000], 1, 8, "seeds", TILES, 1),  # more than a warp holds
        ([10], 8, 9, "seeds", TILES, 1),  # head by head
        ([10], 8, 8, "seeds", TILES, 8),
        ([10], 9, 8, "seeds", FEW_SLOTS, 1),
        ([10], 8, 9, "nodes", TILES, 1),
        ([10], 1, 130, "seeds", PYTORCH, 1),
        ([10], 2, 65, "nodes", PYTORCH, 2),
        ([1] * 9, 1, 9, "seeds", PYTORCH, 1),  # blocks of columns
    ],
)
def test_which_kernels(
    kernels: None, widths: list[int], heads: int, seeds: int, axis: str, path: str, at_once: int
) -> None:
    blocks = [torch.zeros(3, width) for width in widths]
    chosen = choose(blocks, heads, heads * seeds, axis)
    assert (chosen.path, chosen.heads) == (path, at_once)
    assert chosen.is_fused == (path != PYTORCH)
    exact = choose([z.double() for z in blocks], heads, heads * seeds, axis)
    assert (exact.path, exact.heads) == (PYTORCH, heads)


def test_few_nodes_are_few_where_there_are_kernels(kernels: None) -> None:
    low, exact = torch.zeros(1, 8), torch.zeros(1, 8, dtype=torch.float64)
    fused, composed = (choose([z], 1, 4, "seeds") for z in (low, exact))
    assert fused.is_small(FEW_NODES)
    assert not fused.is_small(FEW_NODES + 1)
    assert not composed.is_small(1)
    assert not torch.vmap(lambda x: x + fused.is_small(1))(torch.zeros(2)).any()


def test_it_is_asked_once_for_a_forward_and_a_backward(monkeypatch: pytest.MonkeyPatch) -> None:
    from gmpool.ops.seed_attention import operator

    asked = []

    def counted(*args: Any) -> Any:
        asked.append(args)
        return choose(*args)

    monkeypatch.setattr(operator, "choose", counted)
    z, m, c = (torch.randn(s, requires_grad=True) for s in ((6, 5), (5, 6), (6,)))

    def attend(z: torch.Tensor) -> torch.Tensor:
        return seed_attention([z], m, c, Segments.uniform(2, 3), 2, "seeds")[0][0]

    for run, rows in ((attend, z), (torch.vmap(attend), z[None])):
        asked.clear()
        run(rows).sum().backward()
        assert len(asked) == 1
