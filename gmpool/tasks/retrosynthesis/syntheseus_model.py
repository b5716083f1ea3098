"""A trained model as one of syntheseus, for its evaluation and its searches for routes.

from gmpool import load_model
from gmpool.tasks.retrosynthesis.syntheseus_model import GLNModel
model = GLNModel(load_model("my-model").model, use_cache=True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from torch import nn

from gmpool.errors import MissingPackage
from gmpool.tasks.retrosynthesis.model import GLN
from gmpool.tasks.retrosynthesis.predict import BadProduct, Prediction, Predictor, read_product

_LEAST = 1e-300
"""A probability has a logarithm."""


@cache
def _syntheseus() -> Any:
    try:
        import syntheseus
    except ImportError as error:
        raise MissingPackage("syntheseus", "retro", "a search for routes") from error
    return syntheseus


@cache
def _model_class() -> type:
    """syntheseus may be missing, and so may what its class is the base of."""
    base: Any = _syntheseus().BackwardReactionModel

    class GLNModel(base):
        """What products can be made of, as syntheseus asks it.

        model: as `gmpool.load_model(folder).model` gives it, or a Predictor of it. group: the class
        of all reactions, for a model that was trained with classes. The other options are those
        of syntheseus: use_cache, remove_duplicates, default_num_results, …
        """

        def __init__(
            self,
            model: GLN | Predictor,
            *,
            group: str | None = None,
            device: str = "cpu",
            **options: Any,
        ) -> None:
            super().__init__(**options)
            made = model if isinstance(model, Predictor) else Predictor(model, device)
            made.allowed(group)  # raises where it does not fit
            self.predictor, self.group = made, group

        def _get_reactions(self, inputs: list[Any], num_results: int) -> list[Sequence[Any]]:
            """Of a molecule that cannot be a product there are none."""
            good = [at for at, molecule in enumerate(inputs) if _is_product(molecule.smiles)]
            made = self.predictor.predict_many(
                [inputs[at].smiles for at in good],
                num_results,
                self.group,
                merged=self._remove_duplicates,
            )
            found = dict(zip(good, made, strict=True))
            return [
                [_reaction(molecule, each) for each in found.get(at, ())]
                for at, molecule in enumerate(inputs)
            ]

        def get_parameters(self) -> Iterator[nn.Parameter]:
            return self.predictor.model.parameters()

        def get_model_info(self) -> dict[str, Any]:
            config, library = self.predictor.model.config, self.predictor.library
            return {"method": config.method, "templates": len(library.templates)}

    return GLNModel


def __getattr__(name: str) -> Any:
    """GLNModel, made when it is first asked for."""
    if name == "GLNModel":
        return _model_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_product(smiles: str) -> bool:
    try:
        read_product(smiles)
    except BadProduct:
        return False
    return True


def _reaction(product: Any, prediction: Prediction) -> Any:
    package, p = _syntheseus(), prediction.probability
    reactants = package.Bag(package.Molecule(smiles) for smiles in prediction.reactants)
    metadata = {
        "probability": p,
        "log_probability": math.log(max(p, _LEAST)),
        "score": prediction.score,
        "template": prediction.template,
    }
    return package.SingleProductReaction(reactants=reactants, product=product, metadata=metadata)
