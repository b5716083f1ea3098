"""Sets of which parts are brought into memory: the same batches, checks and trainings."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_sets import MODEL, QUICK, TEN_MOLECULES, classes, rings_and_paths, split
from trainings import alone, as_set

from gmpool.data import PackedGraphs, from_pyg, from_smiles, validity
from gmpool.data import constants as set_constants
from gmpool.data.epoch_batches import epoch_batches
from gmpool.data.shared_batches import shared_batches
from gmpool.engine import training
from gmpool.engine.stack.members import Member
from gmpool.errors import DataError
from gmpool.tasks.reconstruct.settings import AutoencoderConfig

FIELDS = (
    "x", "ptr", "batch", "node_cat", "y", "edge_index", "edge_attr", "edge_weight", "graph_weight"
)  # fmt: skip


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set is large, and a part of it has a few batches."""
    monkeypatch.setattr(set_constants, "LARGE", 0)
    monkeypatch.setattr(sys.modules[epoch_batches.__module__], "PART_SIZE", 80)
    monkeypatch.setattr(training, "KEPT", 0)


def one_way() -> PackedGraphs:
    """Edges that lead one way, with weights."""
    graphs = rings_and_paths(24)
    for number, data in enumerate(graphs):
        data.edge_index = data.edge_index[:, : data.edge_index.shape[1] // 2 + number % 2]
        data.edge_weight = torch.rand(data.edge_index.shape[1])
    return from_pyg(graphs, name="one way")


def molecules() -> PackedGraphs:
    pytest.importorskip("rdkit")
    return from_smiles([*TEN_MOLECULES, *TEN_MOLECULES[::-1]], [0.1 * n for n in range(20)])


@pytest.mark.parametrize("make", [classes, one_way, molecules])
def test_batches_are_those_of_a_small_set(
    make: object, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    graphs = make()  # type: ignore[operator]
    ids, shuffle = torch.arange(len(graphs)).flip(0), torch.Generator
    expected = list(epoch_batches(graphs, ids, 4, shuffle().manual_seed(1)))
    request.getfixturevalue("small_parts")
    assert graphs.is_large
    found = list(epoch_batches(graphs, ids, 4, shuffle().manual_seed(1)))
    assert {len(batch.graphs) for batch in found} != {len(graphs)}, "parts were made"
    for there, here in zip(found, expected, strict=True):
        assert torch.equal(there.numbers, here.ids)
        for name in FIELDS:
            mine, whole = getattr(there, name), getattr(here, name)
            assert (mine is None) == (whole is None), name
            assert mine is None or torch.equal(mine, whole), name
        for name in ("graph", "gcn"):
            for mine, whole in zip(getattr(there, name), getattr(here, name), strict=True):
                assert (mine is None) == (whole is None), name
                assert mine is None or torch.equal(mine, whole), name


@pytest.mark.usefixtures("small_parts")
def test_shared_batches_are_of_parts_too() -> None:
    graphs, ids = classes(), torch.arange(24)
    shares = [list(shared_batches(graphs, ids, 8, part=p, parts=2)) for p in range(2)]
    together = [
        torch.cat([share.part.numbers for share in each]) for each in zip(*shares, strict=True)
    ]
    assert torch.equal(torch.cat(together), ids)


@pytest.mark.parametrize(
    "config",
    [MODEL, replace(MODEL, method="topk"), AutoencoderConfig(method="random", hidden_dim=8)],
)
def test_trainings_are_those_of_a_small_set(config: object, request: pytest.FixtureRequest) -> None:
    """Random clusters are drawn for the numbers of graphs."""
    member = Member(split(), config, QUICK, 3)
    expected = alone(classes(), member)
    request.getfixturevalue("small_parts")
    found = alone(classes(), member)
    assert found.curve == expected.curve
    assert found.test_metric == expected.test_metric


def test_views_between_two_graphs() -> None:
    for graphs in (classes(), one_way(), molecules()):
        part, selected = graphs.between(3, 9), graphs.select(range(3, 9))
        assert part.digest == selected.digest
        assert (
            part.col.data_ptr() == graphs.col[int(graphs.row_ptr[graphs.node_ptr[3]]) :].data_ptr()
        )
    assert len(classes().between(5, 5)) == 0


def test_a_large_set_is_checked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = classes()
    monkeypatch.setattr(validity, "AT_A_TIME", 60)
    assert graphs.validate() is graphs
    bad = graphs.col.clone()
    bad[int(graphs.row_ptr[graphs.node_ptr[20]])] = 99
    with pytest.raises(DataError, match=r"shapes from graph \d+ on: graph \d+, edge 99 -> 0"):
        replace(graphs, col=bad).validate()


def test_a_batch_larger_than_a_part(small_parts: None, tmp_path: Path) -> None:
    (batch,) = as_set(classes()).batches(torch.arange(24), 100)
    assert batch.num_graphs == 24


def test_edges_beyond_32_bits(tmp_path: Path) -> None:
    """A file without content stands for 2^31 edges of a graph between two small ones."""
    path = tmp_path / "col"
    first, many, last = [1, 0], 2**31, [2, 0, 1]
    with path.open("wb") as file:
        file.write(bytes(first))
        file.seek(len(first) + many)
        file.write(bytes(last))
    col = torch.from_file(str(path), size=len(first) + many + len(last), dtype=torch.uint8)
    graphs = PackedGraphs(
        name="long",
        node_ptr=torch.tensor([0, 2, 3, 6]),
        row_ptr=torch.tensor([0, 1, 2, 2 + many, 3 + many, 4 + many, 5 + many]),
        col=col,
        node_float=torch.arange(6.0)[:, None],
    )
    (batch,) = epoch_batches(graphs, torch.tensor([2, 0]), 2)
    assert torch.equal(batch.x[:, 0], torch.tensor([3.0, 4.0, 5.0, 0.0, 1.0]))
    assert batch.edge_index.tolist() == [[2, 0, 1, 4, 3], [0, 1, 2, 3, 4]]
    assert graphs.batch([2]).edge_ids.tolist() == [2**31 + 2, 2**31 + 3, 2**31 + 4]
