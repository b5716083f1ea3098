"""Damage of all sorts: to bytes, to lines, to JSON."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable
from typing import Any

NUMBERS = (
    "0", "-1", "1", "2", "1.5", "-0", "1e5", "1e20", "1e39", "-1e39", "1e308", "1e400", "1e-400",
    "nan", "NaN", "inf", "-inf", "4294967298", "2147483648", "9223372036854775808",
    "18446744073709551616", "100000000", "00", "+3", "0x10", "1_000", "1,5", "٣", "１", "9" * 400,
)  # fmt: skip
WORDS = (
    "", " ", "NA", "N/A", "-", "None", "null", "true", "yes", "?", "=1+1", "@SUM(1)", "'", '"',
    '""',
    "a\nb", "a\rb", "a,b", "a;b", "a\tb", "\x00", "\x1b[31mred", "\u202eabc", "é", "漢字", "🧪",
    "[/]",
    "[bold]", "$\\alpha{$", "<b>", "%s", "{}", "\\", "../..", "/dev/null", "x" * 300, "x" * 20000,
    "train", "valid", "dev", "test", "C1CC", "CCO",
)  # fmt: skip


def damaged_bytes(rng: random.Random, raw: bytes, times: int | None = None) -> bytes:
    for _ in range(times or rng.choice((1, 1, 1, 2, 5, 20))):
        at = rng.randrange(len(raw) + 1)
        to = min(len(raw), at + rng.choice((1, 1, 2, 8, 100)))
        match rng.randrange(7):
            case 0:
                raw = raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :]
            case 1:
                raw = raw[:at] + raw[to:]
            case 2:
                raw = raw[:at] + rng.randbytes(rng.choice((1, 2, 9))) + raw[at:]
            case 3:
                raw = raw[:at]
            case 4:
                raw = raw[:to] + raw[at:]
            case 5 if at < len(raw):
                raw = raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :]
            case _:
                raw = raw[:at] + rng.choice((b"\x00", b"\n", b",", b'"', b"\xff\xfe")) + raw[at:]
    return raw


def damaged_lines(rng: random.Random, text: str, token: Callable[[], str]) -> str:
    """Lines are lost, doubled, moved, cut; words in them become others."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not lines:
            break
        at = rng.randrange(len(lines))
        match rng.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines.insert(rng.randrange(len(lines) + 1), lines.pop(at))
            case 3:
                lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
            case 4:
                lines.insert(at, token())
            case _:
                words = lines[at].split(" ")
                words[rng.randrange(len(words))] = token()
                lines[at] = " ".join(words)
    return "\n".join(lines)


def word(rng: random.Random) -> str:
    return rng.choice(NUMBERS if rng.random() < 0.6 else WORDS)


def json_value(rng: random.Random) -> Any:
    deep: Any = 0
    for _ in range(rng.choice((3, 40, 900))):
        deep = [deep] if rng.random() < 0.5 else {"a": deep}
    return rng.choice(
        (None, True, False, 0, -1, 1, 3, 0.5, -0.5, 1e308, float("nan"), float("inf"), 10**12,
         2**31, 2**63, 10**30, "", "x" * 1000, "gmt", "\x1b[31m", [], {}, [1], ["a"], {"a": 1},
         deep,
         [None] * 50, list(range(2000)))
    )  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key in value:
            found += _places(value[key], (*path, key))
    elif isinstance(value, list):
        for at, each in enumerate(value[:5]):
            found += _places(each, (*path, at))
    return found


def _alike(rng: random.Random, value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return rng.choice((value + 1, value - 1, -value, value * 1000, value * 0, value / 3, 1, 2))
    if isinstance(value, str):
        return rng.choice((value[:-1], value.upper(), value + "2", word(rng)))
    if isinstance(value, list):
        return rng.choice((value[:-1], value[::-1], value * 2, [*value, *value[:1]]))
    return {**value, "more": 1}


def damaged_json(rng: random.Random, value: Any) -> Any:
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = _places(value)
        path = rng.choice(places)
        if not path:
            if rng.random() < 0.1:
                return json_value(rng)
            continue
        holder = value
        for step in path[:-1]:
            holder = holder[step]
        last = path[-1]
        match rng.randrange(10):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, dict):
                holder[rng.choice(WORDS)] = holder.pop(last)
            case 2 if isinstance(holder, list):
                holder.insert(last, holder[last])
            case 3 | 6 | 7 | 8 | 9:
                holder[last] = _alike(rng, holder[last])
            case 4:
                other = value
                for step in rng.choice(places):
                    try:
                        other = other[step]
                    except (KeyError, IndexError, TypeError):
                        break
                with contextlib.suppress(RecursionError):  # nested without an end by now
                    holder[last] = copy.deepcopy(other)
            case _:
                holder[last] = json_value(rng)
    return value
