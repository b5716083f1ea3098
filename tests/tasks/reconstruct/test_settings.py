"""The published settings of reconstructions, and which graphs they are for."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_graphs import points

from gmpool.config import AutoencoderConfig, ReconstructTrainConfig
from gmpool.data import Dataset
from gmpool.errors import UserError
from gmpool.tasks.reconstruct.compress import COMPRESSIONS
from gmpool.tasks.reconstruct.data import reconstruct_data, reconstruct_split
from gmpool.tasks.reconstruct.settings import reconstruct_settings


@pytest.mark.parametrize("method", COMPRESSIONS)
def test_the_published_settings(method: str) -> None:
    model, train = reconstruct_settings(method, {}, one_graph=False)
    assert model == AutoencoderConfig(method=method)
    assert train == ReconstructTrainConfig()
    assert (train.lr, train.weight_decay, train.clip_norm) == (5e-3, 0.0, None)
    assert (train.batch_size, train.epochs, train.patience) == (128, 500, 50)
    model, train = reconstruct_settings(method, {}, one_graph=True)
    assert model.pool == ({"layer_norm": True} if method == "gmt" else {})
    assert (train.batch_size, train.epochs, train.patience) == (1, 10_000, 1000)


def test_the_users_options_come_last() -> None:
    options = {"layer_norm": "false", "ratio": "0.1", "lr": "1e-3", "pool.conv": "gin"}
    model, train = reconstruct_settings("gmt", options, one_graph=True)
    assert model.pool == {"layer_norm": False, "conv": "gin"}
    assert (model.ratio, train.lr) == (0.1, 1e-3)


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        ("mean", {}, "unknown method that reconstructs 'mean'"),
        ("gmt", {"ratio": 1.5}, r"ratio must lie in \(0, 1\], got 1.5"),
        ("gmt", {"objective": "y"}, "unknown objective 'y'"),
        ("gmt", {"decoder_layers": 0}, "option decoder_layers must be at least 1, got 0"),
        ("gmt", {"num_heads": 2}, "unknown option 'num_heads'"),
        ("gmt", {"dropuot": 1}, "unknown option 'dropuot'; did you mean 'dropout'"),
        ("mincut", {"normalise": "maybe"}, "takes true or false, got 'maybe'"),
        ("gmt", {"lr": "-1"}, "option lr must be positive, got -1"),
    ],
)
def test_a_wrong_option_is_named(method: str, options: dict, text: str) -> None:
    with pytest.raises(UserError, match=text):
        reconstruct_settings(method, options, one_graph=False)


def test_where_graphs_come_from(tmp_path: Path) -> None:
    ring = reconstruct_data("ring", parameters={"n": 10})
    assert ring.graphs.num_nodes == 10
    table = tmp_path / "own.csv"
    table.write_text("smiles\nCCO\nCC\nCN\nC=O\n")
    own = reconstruct_data(str(table))
    assert own.graphs.node_type_names
    assert reconstruct_split(own).train.numel() == 2
    with pytest.raises(UserError, match="n is for a graph that is made on the spot"):
        reconstruct_data(str(table), parameters={"n": 3})
    with pytest.raises(UserError, match="smiles_column is for a table"):
        reconstruct_data("ring", table={"smiles_column": "s"})
    with pytest.raises(UserError, match="unknown graph 'rign'"):
        reconstruct_data("rign")
    with pytest.raises(UserError, match="no such file"):
        reconstruct_data(str(tmp_path / "none.safetensors"))


def test_the_split_of_a_set_without_one() -> None:
    one = Dataset("one", points(1), (), None)
    split = reconstruct_split(one)
    assert split.train.tolist() == split.valid.tolist() == split.test.tolist() == [0]
    with pytest.raises(UserError, match="has 2 graphs, too few"):
        reconstruct_split(Dataset("two", points(2), (), None))
    many = reconstruct_split(Dataset("many", points(20), (), None))
    assert [len(part) for part in (many.train, many.valid, many.test)] == [16, 2, 2]
