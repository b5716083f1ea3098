"""Options that a method cannot take are refused by name when it is made, whatever they are."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from gmpool.errors import UserError
from gmpool.pool import METHODS, method_options
from gmpool.pool.method import GraphSizes

SIZES = GraphSizes(6.0, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12))
OPTIONS = [(method, option) for method in METHODS for option in method_options(method)]
NO_NUMBERS = ("three", True, [1], float("nan"), float("inf"), -float("inf"))
WRONG: dict[str, tuple[Any, ...]] = {
    "int": (*NO_NUMBERS, 1.5, -1, 2**31 - 1, 2**40, 10**400),
    "float": (*NO_NUMBERS, -1.0, 1e30, -1e-9),
    "bool": (0, 1, "true", 2.0),
    "str": (0, True, 1.5, "", "nonsense", ["a"]),
}
ZERO_IS_FINE = {"dropout", "negative_slope", "rounds"}


def wrong_values(method: str, option: str) -> list[Any]:
    """By the type that the signature declares; None where it does not say so."""
    hint = inspect.signature(METHODS[method]).parameters[option].annotation
    kind, *more = hint.split(" | ")
    assert kind in WRONG, f"{option} is declared as {hint}: say here what it cannot be"
    zero = [] if option in ZERO_IS_FINE or option.endswith("_weight") else [0]
    return [*WRONG[kind], *zero, *([] if "None" in more else [None])]


@pytest.mark.parametrize(("method", "option"), OPTIONS)
def test_what_an_option_cannot_be_is_refused_by_name(method: str, option: str) -> None:
    for value in wrong_values(method, option):
        with pytest.raises(UserError, match=option) as caught:
            METHODS[method](4, 8, sizes=SIZES, **{option: value})
        is_long = isinstance(value, int) and value.bit_length() > 64
        assert is_long or str(value) in str(caught.value)
    if 0 not in wrong_values(method, option):
        METHODS[method](4, 8, sizes=SIZES, **{option: 0})


def test_numbers_of_numpy_are_numbers() -> None:
    pool = METHODS["gmt"](4, 8, num_seeds=np.int64(3), dropout=np.float32(0.5))
    assert pool.options["num_seeds"] == 3
