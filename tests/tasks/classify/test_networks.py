"""Networks of the comparison; tests/pool/test_contract.py has the laws that all of them keep."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from molecule_sets import random_set
from small_sets import MODEL, QUICK, TEN_MOLECULES, classes, split
from trainings import alone

from gmpool.data import PackedGraphs, from_smiles
from gmpool.engine.stack.members import Member
from gmpool.errors import UserError
from gmpool.nn.directed import DirectedEncoder
from gmpool.nn.encoder import MoleculeEncoder
from gmpool.pool import METHODS
from gmpool.tasks.classify.model import GraphModel
from gmpool.tasks.classify.networks import NETWORKS, make_network
from gmpool.tasks.classify.settings import ModelConfig
from gmpool.tasks.shape import DataShape


def molecules() -> PackedGraphs:
    return from_smiles(TEN_MOLECULES, torch.tensor([[0.0], [1.0]] * 5), task="binary")


def test_molecules_are_read_with_their_bonds() -> None:
    torch.manual_seed(0)  # a classifier so small may be dead at first
    graphs = molecules()
    shape = DataShape.of(graphs)
    assert shape.is_molecular
    assert not DataShape.of(classes()).is_molecular
    model = GraphModel(shape, MODEL)
    assert isinstance(model.network.encoder, MoleculeEncoder)
    assert isinstance(GraphModel(shape, ModelConfig(conv="gin")).network.encoder, MoleculeEncoder)
    # Ethane, ethene and ethyne differ in more than bonds; benzene in two Kekulé forms does not.
    model.eval()
    same = from_smiles(["C1=CC=CC=C1", "c1ccccc1"])
    other = from_smiles(["C1CCCCC1"])
    with torch.no_grad():
        twice, once = model(same.batch([0, 1]))[0], model(other.batch([0]))[0]
    torch.testing.assert_close(twice[0], twice[1])
    assert not torch.allclose(twice[0], once[0])


@pytest.mark.parametrize("method", METHODS)
def test_the_architecture_is_the_methods(method: str) -> None:
    shape, config = DataShape.of(classes()), replace(MODEL, method=method, num_layers=2)
    made = make_network(shape, config)
    assert type(made) is NETWORKS[METHODS[method].architecture]
    pools = [part for part in made.modules() if type(part) is METHODS[method]]
    assert len(pools) == {"global": 1, "clusters": 1}.get(METHODS[method].architecture, 2)


@pytest.mark.parametrize("method", ["topk", "diffpool", "haarpool"])
def test_without_a_layer_there_is_no_hierarchy(method: str) -> None:
    with pytest.raises(UserError, match=f"{method} alternates .* num_layers must be at least 1"):
        make_network(DataShape.of(classes()), replace(MODEL, method=method, num_layers=0))


DIRECTED = replace(MODEL, conv="dmpnn", num_layers=2, state_dim=6)


def test_directed_messages_have_their_own_encoder() -> None:
    shape = DataShape.of(random_set())
    encoder = GraphModel(shape, DIRECTED).network.encoder
    assert isinstance(encoder, DirectedEncoder)
    assert encoder.options == {
        "atom_sizes": shape.cat_sizes,
        "bond_sizes": shape.edge_cat_sizes,
        "hidden_dim": 8,
        "num_layers": 2,
        "state_dim": 6,
    }
    first, second = make_network(shape, replace(DIRECTED, method="topk")).convs
    assert isinstance(first, DirectedEncoder)
    assert type(second).__name__ == "GCNConv"


@pytest.mark.parametrize(
    "method", [name for name in METHODS if METHODS[name].architecture != "kernel"]
)
def test_every_method_trains_behind_directed_messages(method: str) -> None:
    graphs, one = random_set(), replace(QUICK, epochs=1, warmup_epochs=0)
    trained = alone(graphs, Member(split(), replace(DIRECTED, method=method), one, 0))
    assert torch.tensor(trained.curve[0].train_loss).isfinite()


@pytest.mark.parametrize("method", ["gmt", "topk"])
def test_directed_messages_without_bonds_or_layers_say_what_to_take(method: str) -> None:
    config = replace(DIRECTED, method=method)
    with pytest.raises(UserError, match="conv=dmpnn is for molecules with bonds; take gcn or gin"):
        make_network(DataShape.of(classes()), config)
    with pytest.raises(UserError, match="must be at least 1, got 0"):
        make_network(DataShape.of(random_set()), replace(config, num_layers=0))
