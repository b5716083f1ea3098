"""Values of options, as a command line or a file gives them."""

from collections.abc import Iterable
from typing import Any

from gmpool.errors import UserError, WrongType


def coerce(hint: str, key: str, value: Any) -> Any:
    """A value from the command line or a file as the type that is declared, such as int | None."""
    if isinstance(value, str):
        value = parse_value(value)
    if value is None and "None" in hint:
        return None
    wanted = next((t for name, t in _TYPES.items() if name in hint), None)
    return value if wanted is None else _cast(wanted, key, value)


_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float, "str": str}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def _cast(wanted: type, key: str, value: Any) -> Any:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        raise WrongType(f"option {key} takes {_WORDS[wanted]}, got {value!r}")
    return value


def settings_from(options: Iterable[str], flag: str = "--option") -> dict[str, str]:
    """["lr=0.1", ...] as a dict; flag is what the user wrote before each."""
    settings = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"{flag} takes KEY=VALUE, got {text!r}")
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
