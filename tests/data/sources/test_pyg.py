from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from random_graphs import data_lists
from torch_geometric.data import Data

from gmpool.data import from_pyg, to_pyg
from gmpool.errors import DataError

EDGE = torch.tensor([[0, 1], [1, 0]])


@given(data_lists(simple=True))
def test_round_trip(data: list[Data]) -> None:
    graphs = from_pyg(data)
    back = from_pyg(to_pyg(graphs))
    assert len(back) == len(data)
    for g, (one, two) in enumerate(zip(to_pyg(graphs), to_pyg(back), strict=True)):
        for field in ("x", "edge_index", "edge_attr", "edge_weight", "y"):
            a, b = getattr(one, field), getattr(two, field)
            assert (a is None or a.numel() == 0) if b is None else torch.equal(a, b), field
        assert torch.equal(one.x, data[g].x)
        assert one.y.tolist() == data[g].y.tolist()
        edges = {tuple(e) for e in data[g].edge_index.t().tolist()}
        assert {tuple(e) for e in one.edge_index.t().tolist()} == edges
        assert one.edge_index.size(1) == data[g].edge_index.size(1)


def test_edge_fields_follow_their_edges() -> None:
    data = Data(
        x=torch.ones(3, 1),
        edge_index=torch.tensor([[2, 0, 1], [0, 2, 0]]),
        edge_attr=torch.tensor([[20.0], [2.0], [10.0]]),
        edge_weight=torch.tensor([0.2, 0.02, 0.1]),
    )
    graphs = from_pyg([data])
    batch = graphs.batch([0])
    assert batch.edge_index.tolist() == [[1, 2, 0], [0, 0, 2]]
    assert batch.edge_attr.tolist() == [[10.0], [20.0], [2.0]]
    assert batch.edge_weight.tolist() == pytest.approx([0.1, 0.2, 0.02])
    assert graphs.num_edge_features == 1


def test_integer_features_are_categories() -> None:
    data = Data(x=torch.tensor([[0, 2], [1, 0]]), edge_index=EDGE, edge_attr=torch.tensor([1, 0]))
    graphs = from_pyg([data])
    assert (graphs.cat_sizes, graphs.edge_cat_sizes) == ((2, 3), (2,))
    assert graphs.node_cat.dtype == torch.uint8
    back = to_pyg(graphs, one_hot=False)[0]
    assert back.x.tolist() == data.x.tolist()
    assert back.edge_attr.tolist() == [[0], [1]]
    wide = from_pyg([data], cat_sizes=np.array([4, 300]))
    assert wide.num_features == 304
    assert wide.node_cat.dtype == torch.int16
    with pytest.raises(DataError, match=r"cat_sizes is \[2, 2\], but the data needs at least"):
        from_pyg([data], cat_sizes=[2, 2])
    with pytest.raises(DataError, match="needs a set without numeric features"):
        to_pyg(from_pyg([Data(x=torch.ones(1, 1))]), one_hot=False)


@pytest.mark.parametrize(
    ("y", "task", "outputs"),
    [
        ([torch.tensor([0]), torch.tensor([2])], "multiclass", 3),
        ([1, 0], "multiclass", 2),
        ([torch.tensor([0.0]), torch.tensor([1.0])], "binary", 1),
        ([torch.tensor([[0.0, 1.0]]), torch.tensor([[float("nan"), 1.0]])], "binary", 2),
        ([torch.tensor([0.5]), torch.tensor([1.0])], "regression", 1),
        ([0.5, 1.5], "regression", 1),
        ([None, None], None, 0),
    ],
)
def test_labels(y: list[object], task: str | None, outputs: int) -> None:
    graphs = from_pyg([Data(x=torch.ones(1, 1), y=v) for v in y])
    assert graphs.task == task
    assert graphs.num_outputs == outputs


def test_the_task_may_be_given() -> None:
    data = [Data(x=torch.ones(1, 1), y=torch.tensor([v])) for v in (0, 1)]
    assert from_pyg(data, task="binary", task_names=["t"]).y.tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (Data(x=torch.ones(2, 3), edge_index=EDGE), "graph 1, field x: 3 columns, expected 1"),
        (Data(edge_index=EDGE, num_nodes=2), "graph 1, field x: missing"),
        (Data(x=torch.ones(2, 1).long(), edge_index=EDGE), "graph 1, field x: torch.int64, but"),
        (Data(x=torch.ones(2, 1), edge_index=EDGE + 1), "graph 1, field edge_index: node 2 is mi"),
        (Data(x=torch.ones(2, 1), edge_index=EDGE - 1), "graph 1, field edge_index: node -1 is"),
        (Data(x=torch.ones(2, 1), edge_index=EDGE.float()), "graph 1, field edge_index: expected"),
        (Data(x=torch.ones(2, 1), edge_index=EDGE[:1]), "graph 1, field edge_index: expected int"),
        (
            Data(x=torch.ones(2, 1), edge_index=EDGE, edge_weight=torch.ones(3)),
            "field edge_weight: missing|graph 1, field edge_weight: 3 rows, expected 2",
        ),
        (Data(x=torch.ones(2, 1, 1), edge_index=EDGE), "graph 1, field x: expected one or two dim"),
        (Data(x=torch.ones(2, 1) / 0, edge_index=EDGE), "graph 1, node 0, node_float column 0"),
        (
            Data(x=torch.full((2, 1), 1e39, dtype=torch.float64), edge_index=EDGE),
            "graph 1, node 0, node_float",
        ),
        (Data(x=torch.ones(2, 1) * 1j, edge_index=EDGE), "graph 1, field x: expected a dense tens"),
        (Data(x=torch.ones(2, 1).to_sparse(), edge_index=EDGE), "graph 1, field x: expected a den"),
        (Data(x=[[1.0]] * 2, edge_index=EDGE), r"graph 1, field x: expected .* \(got list\)"),
        (Data(x=torch.ones(2, 1), edge_index=EDGE.tolist()), r"field edge_index: .* \(got list\)"),
        (Data(x=torch.ones(2, 1), edge_index=EDGE.bool()), r"field edge_index: .*torch\.bool"),
        (Data(num_nodes=-1), "graph 1, field num_nodes: -1 is no count of nodes"),
        ("CCO", "graph 1: str, not a torch_geometric Data"),
    ],
)
def test_errors_name_graph_and_field(second: object, message: str) -> None:
    first = Data(x=torch.ones(2, 1), edge_index=EDGE)
    with pytest.raises(DataError, match=message):
        from_pyg([first, second])


def test_errors_in_labels() -> None:
    def one(y: object) -> Data:
        return Data(x=torch.ones(1, 1), y=y)

    with pytest.raises(DataError, match="graph 1, field y: missing"):
        from_pyg([one(1), one(None)])
    with pytest.raises(DataError, match="graph 1, field y: 2 values, but graph 0 has 1"):
        from_pyg([one(1.0), one(torch.ones(2))])
    with pytest.raises(DataError, match="graph 1, field y: class -1 is negative"):
        from_pyg([one(1), one(-1)])
    with pytest.raises(DataError, match="the list of graphs is empty"):
        from_pyg([])
    with pytest.raises(DataError, match="graph 0, field x: neither x nor num_nodes"):
        from_pyg([Data()])
    with pytest.raises(DataError, match="graph 1, field y: str is no number or tensor"):
        from_pyg([one(1), one("yes")])
    with pytest.raises(DataError, match="graph 0, field y: expected numbers"):
        from_pyg([one(torch.ones(0))])
    with pytest.raises(DataError, match="graph 1, y0: label inf is not finite"):
        from_pyg([one(0.5), one(float("inf"))])
    with pytest.raises(DataError, match="2 task names for 1 labels of a graph"):
        from_pyg([one(0.5)], task_names=["a", "b"])


def test_numbers_that_would_take_all_memory() -> None:
    with pytest.raises(DataError, match=r"1e\+12 nodes, more than the 100,000,000 that a set can"):
        from_pyg([Data(num_nodes=10**12)])
    with pytest.raises(DataError, match=r"node_cat makes 1,000,000,000,001 columns of 0 and 1"):
        from_pyg([Data(x=torch.tensor([[10**12]]))])
    with pytest.raises(
        DataError, match="graph 1, field y: class 1000000000000; number the classes"
    ):
        from_pyg([Data(x=torch.ones(1, 1), y=y) for y in (0, 10**12)])


def test_negative_categories_name_their_graph() -> None:
    data = [Data(x=torch.tensor([[1], [0]])), Data(x=torch.tensor([[2], [-1]]))]
    with pytest.raises(DataError, match="graph 1, field x: categories must not be negative"):
        from_pyg(data)
    data = [
        Data(x=torch.ones(2, 1), edge_index=EDGE, edge_attr=torch.tensor([0, v])) for v in (1, -3)
    ]
    with pytest.raises(DataError, match=r"graph 1, field edge_attr: .* negative \(got -3\)"):
        from_pyg(data)
    data[1].edge_attr, data[1].edge_weight = torch.tensor([0, 1]), torch.ones(2, 2)
    data[0].edge_weight = torch.ones(2)
    with pytest.raises(DataError, match="graph 1, field edge_weight: 2 columns, expected 1"):
        from_pyg(data)
