"""The Graph Multiset Transformer as a method of the comparison."""

from __future__ import annotations

import pytest
import torch
from graphs import random_batch

from gmpool import GraphMultisetTransformer
from gmpool.errors import UserError
from gmpool.pool import METHODS
from gmpool.pool.gmt import PRESETS
from gmpool.pool.gmt_method import GMTMethod
from gmpool.pool.method import GraphSizes


def test_it_is_the_readout_behind_another_door() -> None:
    batch = random_batch([5, 3], 6, weighted=True)
    torch.manual_seed(0)
    method = GMTMethod(6, 4, num_seeds=3, num_heads=2).double()
    torch.manual_seed(0)
    readout = GraphMultisetTransformer(6, 4, num_seeds=3, num_heads=2).double()
    args, more = (batch.x, batch.edge_index, batch.batch), {"edge_weight": batch.weight}
    assert torch.equal(method(*args, **more).x, readout(*args, **more))
    assert not torch.allclose(method(*args, **more).x, method(*args).x)


def test_seeds_are_a_number_or_follow_from_the_sizes() -> None:
    assert len(METHODS["gmt"](16, 8, num_seeds=4).readout.blocks[0].seeds) == 4
    assert len(GMTMethod(16, 8, sizes=GraphSizes(17.93)).readout.blocks[0].seeds) == 5
    both = GMTMethod(16, 8, sizes=GraphSizes(17.93), num_seeds=2)
    assert len(both.readout.blocks[0].seeds) == 2
    with pytest.raises(
        UserError, match="give either the number of rows per graph, num_seeds=…, or the sizes"
    ):
        GMTMethod(16, 8)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_sets_what_is_left_open(preset: str) -> None:
    chosen = GMTMethod(8, 8, num_seeds=2, preset=preset).readout.options
    assert {name: chosen[name] for name in PRESETS[preset]} == PRESETS[preset]
    other = not PRESETS[preset]["layer_norm"]
    asked = GMTMethod(8, 8, num_seeds=2, preset=preset, layer_norm=other).readout.options
    assert asked == {**chosen, "layer_norm": other}
    with pytest.raises(UserError, match="unknown preset 'papr'; did you mean 'paper'"):
        GMTMethod(8, 8, num_seeds=2, preset="papr")
