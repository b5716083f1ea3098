"""The published settings of a classification, and a user's over them."""

from __future__ import annotations

from typing import Any

import pytest

from gmpool.config import TrainConfig
from gmpool.data import CATALOGUE, Card
from gmpool.errors import UserError
from gmpool.tasks.classify.settings import AUTHORS, ModelConfig
from gmpool.tasks.task import TASKS, task_of


def configured(
    dataset: str = "MUTAG", method: str = "gmt", /, **options: Any
) -> tuple[ModelConfig, TrainConfig]:
    """As a job does it, of whose set the card suffices; the names of options may hold a dot."""
    digest = CATALOGUE[dataset].content if dataset in CATALOGUE else ""
    card = Card(dataset, digest, split_digests=("",), graphs=1, nodes=1)
    model, train = TASKS["classify"].settings(card, method, options)
    return model, train


def test_the_authors_settings_of_mutag() -> None:
    model, train = configured()
    assert model == ModelConfig(
        method="gmt", hidden_dim=128, pool={"num_heads": 4, "layer_norm": True}
    )
    assert train == TrainConfig(
        batch_size=128, lr=5e-4, weight_decay=1e-4, epochs=500, patience=50, warmup_epochs=50,
        clip_norm=1.0, select_by="loss",
    )  # fmt: skip


def test_molecules_train_all_epochs_and_test_the_best_metric() -> None:
    model, train = configured("ogbg-molhiv")
    assert (train.patience, train.select_by, train.lr, train.batch_size) == (
        None, "metric", 1e-3, 512,
    )  # fmt: skip
    assert model.pool == {"num_heads": 4}


def test_every_set_with_labels_has_settings_that_every_method_accepts() -> None:
    assert set(AUTHORS) == {name for name, entry in CATALOGUE.items() if entry.outputs}
    for name in AUTHORS:
        assert configured(name)[0].pool["num_heads"] >= 1
        assert configured(name, "mean")[0].pool == {}, "options of GMT are not given to others"


def test_own_data_has_settings_too() -> None:
    model, train = configured("mine")
    assert (train.lr, model.pool) == (1e-3, {"num_heads": 2, "layer_norm": True})


def of_molecules(graphs: int, /, method: str = "gmt", **options: Any) -> Any:
    card = Card("mine", "", ("",), graphs=graphs, nodes=20 * graphs, is_molecules=True)
    return TASKS["classify"].settings(card, method, options)


def test_a_file_that_is_called_like_a_set_is_own_data() -> None:
    card = Card("ogbg-molbbbp", "another", ("",), graphs=2000, nodes=1, is_molecules=True)
    model, _ = TASKS["classify"].settings(card, "gmt", {})
    assert model == of_molecules(2000)[0]


def test_own_molecules_have_a_preset_by_their_number() -> None:
    model, train = of_molecules(2000)
    assert (model.conv, model.state_dim, model.dropout) == ("dmpnn", 300, 0.0)
    assert model.pool == {"num_heads": 2, "layer_norm": False}
    assert (train.batch_size, train.epochs, train.schedule) == (64, 50, "exponential")
    assert train.warmup_epochs < train.epochs
    batches = [of_molecules(count)[1].batch_size for count in (1, 100, 300, 600, 1000, 10**6)]
    assert batches == [16, 16, 16, 32, 64, 64]
    epochs = [of_molecules(count)[1].epochs for count in (10, 20_000, 40_000, 10**6)]
    assert epochs == [50, 50, 25, 10]


def test_another_convolution_needs_no_width_of_bonds() -> None:
    for conv in ("gin", "gcn"):
        assert of_molecules(100, conv=conv)[0].state_dim is None
    assert of_molecules(100, conv="dmpnn")[0].state_dim == 300
    assert of_molecules(100, method="topk")[0].pool == {}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"members": 0}, "members must be at least 1, got 0"),
        ({"members": 101}, "members must be at most 100, got 101"),
        ({"members": 2, "members_by": "folds"}, "at least 3 members"),
        ({"members_by": "fold"}, "did you mean 'folds'"),
        ({"descriptors": "quik"}, "did you mean 'quick'"),
        ({"class_weight": "balance"}, "did you mean 'balanced'"),
        ({"schedule": "cosin"}, "did you mean 'cosine'"),
    ],
)
def test_wrong_settings_of_own_data(options: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError, match=text):
        of_molecules(100, **options)


def test_the_users_options_come_last_and_have_the_declared_type() -> None:
    model, train = configured(
        **{"lr": "1", "patience": "none", "hidden_dim": "64", "num_heads": "2", "pool.conv": "none",
           "conv": "gin", "ratio": "1", "layer_norm": "false"}
    )  # fmt: skip
    assert (train.lr, train.patience) == (1.0, None)
    assert isinstance(train.lr, float)
    assert (model.hidden_dim, model.conv) == (64, "gin")
    pool = {"num_heads": 2, "layer_norm": False, "conv": None, "ratio": 1.0}
    assert model.pool == pool
    assert isinstance(model.pool["ratio"], float)


def test_the_prefix_reaches_an_option_that_the_encoder_has_too() -> None:
    model, _ = configured(**{"dropout": 0.25, "pool.dropout": 0.125})
    assert (model.dropout, model.pool["dropout"]) == (0.25, 0.125)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("epoch", "3", r"unknown option 'epoch'; did you mean 'epochs'\? \(known: .*batch_size"),
        ("pool.num_head", "3", r"unknown option of gmt 'num_head'; did you mean 'num_heads'"),
        ("method", "mean", "unknown option 'method'"),
        ("epochs", "1.5", "option epochs takes a whole number, got 1.5"),
        ("epochs", "many", "option epochs takes a whole number, got 'many'"),
        ("epochs", "none", "option epochs takes a whole number, got None"),
        ("epochs", "true", "option epochs takes a whole number, got True"),
        ("lr", "fast", "option lr takes a number, got 'fast'"),
        ("select_by", "3", "option select_by takes a word, got 3"),
        ("num_heads", "none", "option num_heads takes a whole number, got None"),
        ("num_seeds", "abc", "option num_seeds takes a whole number, got 'abc'"),
        ("layer_norm", "5", "option layer_norm takes true or false, got 5"),
        ("epochs", "0", "option epochs must be at least 1, got 0"),
        ("patience", "0", "option patience must be at least 1, got 0"),
        ("hidden_dim", "1", "option hidden_dim must be at least 2, got 1"),
        ("warmup_epochs", "-1", "option warmup_epochs must be at least 0, got -1"),
        ("lr", "0", "option lr must be positive, got 0.0"),
        ("lr", "nan", "option lr must be finite, got nan"),
        ("clip_norm", "-1", "option clip_norm must be positive, got -1.0"),
        ("weight_decay", "-1", "option weight_decay must not be negative, got -1.0"),
        ("weight_decay", "nan", "option weight_decay must be finite, got nan"),
        ("dropout", "1", r"option dropout must lie in \[0, 1\), got 1.0"),
        ("select_by", "los", "unknown select_by 'los'; did you mean 'loss'"),
        ("schedule", "linear", r"unknown schedule 'linear' \(known: cosine, exponential\)"),
        ("state_dim", "64", "option state_dim is of conv=dmpnn, not of conv=gcn: leave it out"),
        ("conv", "gat", r"unknown convolution 'gat' \(known: dmpnn, gcn, gin\)"),
    ],
)
def test_a_wrong_option_is_named_with_its_value(key: str, value: str, text: str) -> None:
    with pytest.raises(UserError, match=text):
        configured(**{key: value})


def test_states_of_bonds_have_a_width_of_their_own() -> None:
    model, _ = configured(conv="dmpnn", state_dim="64")
    assert (model.conv, model.state_dim, configured(conv="dmpnn")[0].state_dim) == (
        "dmpnn", 64, None
    )  # fmt: skip
    with pytest.raises(UserError, match="option state_dim must be at least 1, got 0"):
        configured(conv="dmpnn", state_dim=0)


@pytest.mark.parametrize(("method", "options", "text"), [
    ("gin", {"batch_norm": "here"}, r"unknown place of batch norms 'here' \(known: after, both"),
    ("mean", {"batch_norm": "inside"}, "only conv=gin has two linear maps"),
    ("mean", {"batch_norm": "after", "num_layers": 0}, "num_layers=0 has none"),
    ("mean", {"batch_norm": "after", "conv": "dmpnn"}, "batch_norm is not of conv=dmpnn"),
    ("topk", {"batch_norm": "after"}, "and topk pools in between: leave it out"),
])  # fmt: skip
def test_batch_norms_where_there_can_be_none(method: str, options: dict, text: str) -> None:
    with pytest.raises(UserError, match=text):
        configured("MUTAG", method, **options)


def test_known_options_are_listed_once() -> None:
    with pytest.raises(UserError) as error:
        configured(**{"no such": 1})
    names = str(error.value).partition("(known: ")[2].rstrip(")").split(", ")
    assert names == sorted(set(names))
    assert {"lr", "dropout", "num_heads"} <= set(names)


def test_an_option_of_another_method_is_unknown() -> None:
    with pytest.raises(UserError, match="unknown option 'num_heads'"):
        configured("MUTAG", "mean", num_heads=2)


def test_every_method_of_the_family_has_settings() -> None:
    """Those of the kernel, which is no network, are checked as the others are."""
    content = CATALOGUE["MUTAG"].content
    card = Card("MUTAG", content, split_digests=("",), graphs=1, nodes=1)
    model, train = task_of("classify", "wl-svm").settings(card, "wl-svm", {})
    assert (model, train) == (ModelConfig(method="wl-svm"), TrainConfig())
    with pytest.raises(UserError, match="option lr is for networks, and wl-svm is none"):
        task_of("classify", "wl-svm").settings(card, "wl-svm", {"lr": 0.1})
