"""Values of options, as a command line or a file gives them."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from gmpool.errors import UserError, WrongType
from gmpool.plain_text import shortened

_LARGEST = 2**31 - 1
"""Whole numbers beyond it are no sizes, and some libraries wrap them."""


def coerce(hint: str, key: str, value: Any) -> Any:
    """A value from the command line or a file as the type that is declared, such as int | None."""
    if isinstance(value, str):
        value = parse_value(value)
    if value is None and "None" in hint:
        return None
    wanted = next((t for name, t in _TYPES.items() if name in hint), None)
    return value if wanted is None else _cast(wanted, key, value)


def check_type(hint: str, key: str, value: Any) -> None:
    """Raises for a value that is not of the declared type, such as int | None, or is no number.
    Of types that no file can give nothing is asked."""
    names = hint.split(" | ")
    if not {*names} <= {*_TYPES, "None"} or (value is None and "None" in names):
        return
    if isinstance(value, Real) and not isinstance(value, bool):  # NumPy's too
        value = int(value) if isinstance(value, Integral) else float(value)
    _cast(_TYPES[names[0]], key, value)


_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def _cast(wanted: type, key: str, value: Any) -> Any:
    number = isinstance(value, int) and not isinstance(value, bool)
    if number and wanted in (int, float) and abs(value) > _LARGEST:
        said = value if value.bit_length() < 128 else f"one of {value.bit_length()} bits"
        raise UserError(f"option {key} must lie within ±{_LARGEST:,}, got {said}")
    if number and wanted is float:
        return float(value)
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        raise WrongType(f"option {key} takes {_WORDS[wanted]}, got {shortened(repr(value))}")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"option {key} must be finite, got {value}")
    return value


def settings_from(options: Iterable[str], flag: str = "--option") -> dict[str, str]:
    """["lr=0.1", ...] as a dict; flag is what the user wrote before each."""
    settings = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"{flag} takes KEY=VALUE, got {shortened(repr(text))}")
        settings[key] = value
    return settings


def parse_value(text: str) -> Any:
    """none, true, false, a number, or the text itself."""
    words: dict[str, Any] = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def at_least(*options: tuple[str, int, int]) -> None:
    """Each (name, value, least) must be no smaller than that."""
    for key, value, low in options:
        if value < low:
            raise UserError(f"option {key} must be at least {low}, got {value}")


def between(least: float, most: float, **options: float) -> None:
    """Each option must lie between them."""
    for key, value in options.items():
        if not least <= value <= most:
            raise UserError(f"option {key} must lie between {least:,} and {most:,}, got {value}")


def at_most(*options: tuple[str, int, int]) -> None:
    """Each (name, value, most) must be no larger than that."""
    for key, value, high in options:
        if value > high:
            raise UserError(f"option {key} must be at most {high:,}, got {value:,}; take less")
