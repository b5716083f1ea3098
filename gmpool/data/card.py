"""What is known of a set without opening it."""

from __future__ import annotations

from typing import NamedTuple


class Card(NamedTuple):
    """name, digest of the content, digests of the splits, how many examples."""

    name: str
    digest: str
    split_digests: tuple[str, ...]
    examples: int
