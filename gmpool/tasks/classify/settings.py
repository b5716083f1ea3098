"""The published settings of a classification, and the user's over them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gmpool.config import TrainConfig, assemble
from gmpool.data import CATALOGUE, Card
from gmpool.data.sources.descriptors import KINDS
from gmpool.errors import UserError, unknown
from gmpool.nn.batch_norm import check_place
from gmpool.options import at_least, at_most
from gmpool.pool import METHODS

DIRECTED = "dmpnn"
CONVS = ("gcn", "gin", DIRECTED)
BALANCED = "balanced"
SEEDS, FOLDS = "seeds", "folds"
MOST_MEMBERS = 100


@dataclass(frozen=True)
class ModelConfig:
    """Encoder, pooling and classifier."""

    method: str = "gmt"
    hidden_dim: int = 128
    num_layers: int = 3
    conv: str = "gcn"
    """Message passing of the encoder: gcn or gin (molecules with bonds: the bond convolution), or
    dmpnn, messages on directed bonds, for molecules."""
    state_dim: int | None = None
    """Width of the states of bonds in dmpnn; none: hidden_dim."""
    batch_norm: str | None = None
    """Batch norms of the encoder: "inside" the two linear maps of gin, as the authors' code has
    them, "after" each convolution, as OGB's GCN has them, or "both", as OGB's GIN; none: none."""
    dropout: float = 0.5
    """Of the classifier."""
    descriptors: str | None = None
    """Numbers of the whole molecule that are joined after the pooling: "quick", or "rdkit", which
    are all that RDKit has; none: none."""
    class_weight: str | None = None
    """"balanced": the classes, or yes and no, of each label weigh as much together."""
    members: int = 1
    """So many models are trained apart and predict together."""
    members_by: str = "seeds"
    """What they differ in: "seeds", or "folds": each is validated on another part of the training
    and validation graphs."""
    pool: Mapping[str, Any] = field(default_factory=dict)
    """Options of the pooling method, by its constructor's names."""


# The authors' code trains molecules for all epochs and tests the best validation metric.
_OGB: Mapping[str, Any] = {"lr": 1e-3, "patience": None, "select_by": "metric"}

# The authors' published settings. num_heads and layer_norm are options of GMT.
AUTHORS: Mapping[str, Mapping[str, Any]] = {
    "DD": {"batch_size": 10, "hidden_dim": 32, "num_heads": 4},
    "PROTEINS": {"num_heads": 2},
    "MUTAG": {"num_heads": 4, "layer_norm": True},
    "IMDB-BINARY": {"num_heads": 1},
    "IMDB-MULTI": {"num_heads": 1},
    "COLLAB": {"num_heads": 2},
    "ogbg-molhiv": {**_OGB, "batch_size": 512, "num_heads": 4},
    "ogbg-moltox21": {**_OGB, "num_heads": 1},
    "ogbg-moltoxcast": {**_OGB, "num_heads": 8},
    "ogbg-molbbbp": {**_OGB, "num_heads": 2, "layer_norm": True},
}

# For a user's own data, about which nothing is published. Those for molecules were chosen by
# validation parts of ESOL, FreeSolv, BBBP and Tox21, see docs/evidence.md.
OWN_GRAPHS: Mapping[str, Any] = {"lr": 1e-3, "num_heads": 2, "layer_norm": True}
OWN_MOLECULES: Mapping[str, Any] = {
    "conv": "dmpnn", "hidden_dim": 128, "state_dim": 300, "dropout": 0.0,
    "num_heads": 2, "layer_norm": False,
    "lr": 1e-3, "warmup_epochs": 2, "schedule": "exponential", "weight_decay": 0.0,
    "epochs": 50, "patience": None,
}  # fmt: skip
_BATCH, _FEW, _MANY = 64, 1_000, 20_000
_FEWEST_IN_BATCH, _FEWEST_EPOCHS = 16, 10

_GMT_ONLY = ("num_heads", "layer_norm")


def settings_for(card: Card, method: str) -> dict[str, Any]:
    """The published settings of a set, or those for own data; what only GMT knows is left out for
    other methods, which may have settings of their own."""
    entry = CATALOGUE.get(card.name)
    is_known = entry is not None and entry.content in (None, "", card.digest)
    settings = dict(AUTHORS[card.name]) if is_known and card.name in AUTHORS else own_settings(card)
    if method != "gmt":
        settings = {k: v for k, v in settings.items() if k not in _GMT_ONLY}
    return {**settings, **(METHODS[method].settings if method in METHODS else {})}


def own_settings(card: Card) -> dict[str, Any]:
    """Few molecules come in small batches, so that there are steps enough; many are seen less
    often."""
    if not card.is_molecules:
        return dict(OWN_GRAPHS)
    batch = _BATCH * min(1.0, card.graphs / _FEW)
    epochs = OWN_MOLECULES["epochs"] * min(1.0, _MANY / max(card.graphs, 1))
    return {
        **OWN_MOLECULES,
        "batch_size": max(_FEWEST_IN_BATCH, 2 ** round(math.log2(max(batch, 1)))),
        "epochs": max(_FEWEST_EPOCHS, round(epochs)),
    }


def configure(
    card: Card, method: str, options: Mapping[str, Any], pool_types: Mapping[str, str]
) -> tuple[ModelConfig, TrainConfig]:
    """Published settings first, then the user's. pool_types: of the method's options."""
    settings = settings_for(card, method)
    if str(options.get("conv", DIRECTED)) != DIRECTED:
        settings.pop("state_dim", None)  # of another convolution than the user's
    settings = {**settings, **options}
    model, train = assemble(ModelConfig(method=method), TrainConfig(), settings, pool_types)
    check_model(model)
    return model, train


def check_model(model: ModelConfig) -> None:
    """Raises if a value makes no sense."""
    at_least(
        ("hidden_dim", model.hidden_dim, 2),
        ("num_layers", model.num_layers, 0),
        ("members", model.members, 1),
    )
    at_most(("members", model.members, MOST_MEMBERS))
    if not 0 <= model.dropout < 1:
        raise UserError(f"option dropout must lie in [0, 1), got {model.dropout}")
    if model.descriptors not in (None, *KINDS):
        raise unknown("kind of descriptors", model.descriptors, KINDS)
    if model.class_weight not in (None, BALANCED):
        raise unknown("class_weight", model.class_weight, [BALANCED])
    if model.members_by not in (SEEDS, FOLDS):
        raise unknown("members_by", model.members_by, (SEEDS, FOLDS))
    if model.members_by == FOLDS and model.members < 3:
        raise UserError(
            f"members_by=folds needs at least 3 members, each validated on a part of its own, got "
            f"members={model.members}"
        )
    if model.conv not in CONVS:
        raise unknown("convolution", model.conv, CONVS)
    check_place(model.batch_norm, model.conv, model.num_layers)
    if model.batch_norm is not None and model.conv == DIRECTED:
        raise UserError(f"option batch_norm is not of conv={DIRECTED}: leave it out")
    if model.batch_norm is not None and METHODS[model.method].architecture != "global":
        raise UserError(
            f"option batch_norm is of message passing before one pooling, and {model.method} pools "
            f"in between: leave it out"
        )
    if model.state_dim is not None:
        at_least(("state_dim", model.state_dim, 1))
        if model.conv != DIRECTED:
            raise UserError(
                f"option state_dim is of conv={DIRECTED}, not of conv={model.conv}: leave it out"
            )
