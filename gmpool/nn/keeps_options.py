"""Modules that keep what they were made with, as scikit-learn's estimators do."""

import functools
import inspect
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch
from torch import nn

from gmpool.errors import UserError
from gmpool.options import check_type


class KeepsOptions(nn.Module):
    """A module that knows the arguments of its constructor, shows them, and can begin again.

    Every argument is an attribute of its name, unchanged, unless the constructor made a part of
    that name, as the `blocks` of a GraphMultisetTransformer: `options` has all of them. Numbers,
    words and truths must be what the signature says.
    """

    _given: tuple[tuple[Any, ...], dict[str, Any]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _recording(cls.__init__)  # type: ignore[method-assign]

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the constructor by name, as they were given or by default."""
        args, kwargs = self._given
        return _by_name(inspect.signature(type(self)), args, kwargs)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the first weights anew. It is done by the constructor, so that the same seed gives
        the same weights as there."""
        args, kwargs = self._given
        fresh = type(self)(*args, **kwargs)
        begun = dict(chain(fresh.named_parameters(), fresh.named_buffers()))
        for name, tensor in chain(self.named_parameters(), self.named_buffers()):
            if name not in begun:
                raise UserError(f"{name} was added later, so how it began is not known")
            tensor.copy_(begun[name])

    def extra_repr(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        return ", ".join(
            f"{name}={value!r}"
            for name, value in self.options.items()
            if name not in parameters or value != parameters[name].default
        )


def _recording(init: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(init)
    hints = {p.name: _written(p.annotation) for p in signature.parameters.values()}

    @functools.wraps(init)
    def recording(self: KeepsOptions, *args: Any, **kwargs: Any) -> None:
        for name, value in chain(zip(hints, (self, *args), strict=False), kwargs.items()):
            check_type(hints.get(name, ""), name, value)  # too much or too little Python says
        init(self, *args, **kwargs)
        self._given = (args, kwargs)  # of the outermost class: its constructor ends last
        for name, value in list(_by_name(signature, (self, *args), kwargs).items())[1:]:
            if not hasattr(self, name):
                setattr(self, name, value)

    return recording


def _written(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _by_name(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    found = dict(bound.arguments)
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            found |= found.pop(p.name)
    return found
