"""What a command said."""

from __future__ import annotations

from typing import NamedTuple


class Said(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str
