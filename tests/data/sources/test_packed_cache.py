from __future__ import annotations

import logging
from pathlib import Path

import pytest
from small_sets import classes

from gmpool.data import load, load_packed
from gmpool.data.sources.packed_cache import packed_once
from gmpool.data.sources.packed_file import FORMAT
from gmpool.data.splits import random_split


def test_what_was_packed_is_not_packed_again(own_cache: Path) -> None:
    graphs, split = classes(6), random_split(6)
    assert packed_once("set", "a" * 64, lambda: (graphs, split))[0] is graphs
    again, known = packed_once("set", "a" * 64, lambda: pytest.fail("made twice"))
    assert again.digest == graphs.digest
    assert known is not None
    assert known.digest == split.digest
    packed_once("set", "b" * 64, lambda: (graphs, None))  # from another file
    names = sorted(path.name for path in (own_cache / FORMAT).iterdir())
    assert names == [f"set-{'a' * 16}.safetensors", f"set-{'b' * 16}.safetensors"]


@pytest.mark.data
def test_a_damaged_cache_is_packed_again(
    data_root: Path, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    want = load("PROTEINS", data_root).graphs.digest
    (cached,) = (own_cache / FORMAT).iterdir()
    cached.write_bytes(cached.read_bytes()[:-1000])
    with caplog.at_level(logging.WARNING):
        assert load("PROTEINS", data_root).graphs.digest == want
    assert "packing again" in caplog.text
    assert load_packed(cached).digest == want


@pytest.mark.data
def test_a_cache_that_cannot_be_written_costs_nothing_but_time(
    data_root: Path, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own_cache.parent.mkdir()
    own_cache.write_text("a file where a folder should be")
    assert len(load("MUTAG", data_root).graphs) == 188
    assert "not cached: cannot write" in caplog.text
