"""Every public module keeps its options, shows them, and can begin again."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
import torch
from documented import modules_of
from torch import Tensor, nn

import gmpool.nn
import gmpool.pool
from gmpool import GMPool, GraphMultisetTransformer
from gmpool.errors import UserError
from gmpool.nn.clock import Dropout
from gmpool.nn.conv import ForeignConv, GCNConv
from gmpool.nn.keeps_options import KeepsOptions
from gmpool.pool.method import GraphSizes, Method

# What a constructor must be given, by name; and options that no default has.
NEEDED: dict[str, Any] = {
    "in_dim": 6, "hidden_dim": 4, "out_dim": 6, "dim": 6, "num_seeds": 3, "num_rows": 9,
    "num_keys": 3, "num_heads": 2, "num_clusters": 3, "rate": 0.25, "tau": 1.5, "softmax": "nodes",
    "scale": "head", "out_projection": True, "residual": "query", "layer_norm": True,
    "dropout": 0.25, "atom_sizes": (3, 2), "bond_sizes": (2, 4), "relations": 2,
}  # fmt: skip
ABSTRACT = {Method, KeepsOptions}
PUBLIC = [cls for cls in modules_of(gmpool.nn, gmpool.pool) if cls not in ABSTRACT | {ForeignConv}]
by_name = pytest.mark.parametrize("module", PUBLIC, ids=lambda cls: cls.__name__)


def arguments(module: type[nn.Module]) -> dict[str, Any]:
    """All that NEEDED knows, so that as many options as possible are not the default."""
    names = inspect.signature(module).parameters
    sizes = {"sizes": GraphSizes(9.0) if issubclass(module, Method) else (3, 2)}
    return {name: value for name, value in {**NEEDED, **sizes}.items() if name in names}


def made(module: type[nn.Module], seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return module(**arguments(module))


def tensors(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(), *module.buffers()]


@by_name
def test_options_are_kept_unchanged(module: type[nn.Module]) -> None:
    one, given = made(module), arguments(module)
    defaults = {
        p.name: p.default
        for p in inspect.signature(module).parameters.values()
        if p.default is not p.empty
    }
    assert one.options == {**defaults, **given}
    for name, value in one.options.items():
        kept = getattr(one, name)
        assert kept is value or isinstance(kept, (nn.Module, Tensor)), name


@by_name
def test_it_begins_again_as_it_began(module: type[nn.Module]) -> None:
    """The same seed gives the same weights, and leaves the generator where the constructor did."""
    began = made(module, seed=1)
    after, again = torch.get_rng_state(), made(module, seed=2).eval()
    torch.manual_seed(1)
    again.reset_parameters()
    assert torch.equal(torch.get_rng_state(), after)
    assert not again.training
    assert all(torch.equal(*two) for two in zip(tensors(began), tensors(again), strict=True))


@by_name
def test_it_shows_its_options(module: type[nn.Module]) -> None:
    shown = made(module).extra_repr()
    parameters = inspect.signature(module).parameters
    if not issubclass(module, nn.Linear):  # which says in_features, as everywhere
        for name, value in arguments(module).items():
            assert (f"{name}={value!r}" in shown) == (value != parameters[name].default)


@by_name
def test_copies_keep_what_it_was_made_with(module: type[nn.Module]) -> None:
    one = made(module)
    for twin in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert twin.options == one.options
        torch.manual_seed(0)
        twin.reset_parameters()
        assert all(torch.equal(*two) for two in zip(tensors(one), tensors(twin), strict=True))


def test_every_public_module_is_one() -> None:
    assert len(PUBLIC) > 30
    assert all(issubclass(module, KeepsOptions) for module in PUBLIC)


def test_arguments_by_position_and_parts_of_the_same_name() -> None:
    model = GraphMultisetTransformer(6, 4, num_seeds=3)
    assert (model.in_dim, model.hidden_dim, model.num_seeds) == (6, 4, 3)
    assert (model.mean_nodes, model.softmax) == (None, "seeds")
    assert isinstance(model.blocks, nn.ModuleList)
    assert model.options["blocks"] == "GMPool_G-SelfAtt-GMPool_I"
    assert model.extra_repr() == "in_dim=6, hidden_dim=4, num_seeds=3"


def test_weights_begin_again_where_they_are() -> None:
    """Neither type, device nor the tensors themselves change, and there is no gradient to it."""
    torch.manual_seed(0)
    conv = GCNConv(3, 4).double()
    weight, first = conv.weight, conv.weight.detach().clone()
    nn.init.zeros_(conv.weight)
    torch.manual_seed(0)
    conv.reset_parameters()
    assert conv.weight is weight
    assert conv.weight.requires_grad
    assert torch.equal(weight, first)


def test_weights_that_were_nowhere_yet() -> None:
    """As torch has it for large models: made on no device, then given memory, then begun."""
    with torch.device("meta"):
        pool = GMPool(6, 3, dropout=0.5)
    pool.to_empty(device="cpu")
    torch.manual_seed(0)
    pool.reset_parameters()
    torch.manual_seed(0)
    there = GMPool(6, 3, dropout=0.5)
    assert all(torch.equal(*two) for two in zip(tensors(pool), tensors(there), strict=True))


def test_a_factory_makes_its_convolutions_again() -> None:
    from torch_geometric.nn import GCNConv as PyGConv

    torch.manual_seed(0)
    began = GMPool(6, 3, conv=PyGConv)
    again = GMPool(6, 3, conv=PyGConv)
    torch.manual_seed(0)
    again.reset_parameters()
    assert all(torch.equal(*two) for two in zip(tensors(began), tensors(again), strict=True))
    key = again.attention.to_key
    before = key.conv.lin.weight.detach().clone()
    key.reset_parameters()
    assert not torch.equal(key.conv.lin.weight, before)


class Narrow(GMPool):
    """A user's, with a constructor of its own."""

    def __init__(self, dim: int, **more: Any) -> None:
        super().__init__(dim, 2, **more)
        self.extra = nn.Linear(dim, 1)


def test_a_subclass_of_a_user() -> None:
    torch.manual_seed(0)
    began = Narrow(4, num_heads=2)
    again = Narrow(4, num_heads=2)
    assert again.options == {"dim": 4, "num_heads": 2}
    assert (again.num_seeds, again.num_heads, again.softmax) == (2, 2, "seeds")
    assert repr(again).startswith("Narrow(\n  dim=4, num_heads=2\n  (attention): SeedAttention(\n")
    torch.manual_seed(0)
    again.reset_parameters()
    assert all(torch.equal(*two) for two in zip(tensors(began), tensors(again), strict=True))


def test_what_was_added_later_cannot_begin_again() -> None:
    pool = GMPool(4, 2)
    pool.scale_of_mine = nn.Parameter(torch.ones(1))
    with pytest.raises(UserError, match="scale_of_mine was added later"):
        pool.reset_parameters()


def test_a_wrong_call_is_pythons_own_error() -> None:
    with pytest.raises(TypeError, match=r"__init__\(\) got an unexpected keyword argument 'rat'"):
        Dropout(rat=0.5)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'rate'"):
        Dropout()
