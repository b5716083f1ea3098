"""Every constructor argument of a public module is documented, and nothing else is."""

from __future__ import annotations

import pytest
from documented import documented, modules_of, undocumented, unheard_of
from torch import nn

import gmpool.nn
import gmpool.pool
from gmpool.pool import METHODS

PUBLIC = modules_of(gmpool.nn, gmpool.pool)


def test_all_are_looked_at() -> None:
    assert {METHODS[name] for name in METHODS} | {gmpool.GMPool, gmpool.SelfAtt} <= set(PUBLIC)
    assert len(PUBLIC) >= 35


@pytest.mark.parametrize("module", PUBLIC, ids=lambda cls: cls.__name__)
def test_docstring_and_signature_agree(module: type[nn.Module]) -> None:
    assert undocumented(module) == set()
    assert unheard_of(module) == set()


class _Drifted(nn.Module):
    """A module.

    width, depth: of something.
    height: of nothing.
    """

    def __init__(self, width: int, depth: int, *, dropout: float = 0.0) -> None:
        super().__init__()


def test_what_has_drifted_is_found() -> None:
    assert documented(_Drifted) == {"width", "depth", "height"}
    assert undocumented(_Drifted) == {"dropout"}
    assert unheard_of(_Drifted) == {"height"}
