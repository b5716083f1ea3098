"""What recorded reconstructions scored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reconstruction_rows import reconstruction_row

from gmpool.errors import StoreError
from gmpool.tasks.reconstruct.late_scores import with_molecule_scores
from gmpool.tasks.reconstruct.scores import published_error, tallies


def test_published_errors() -> None:
    assert published_error("grid", "mincut", "a", "error_a") == 0.0051
    assert published_error("grid", "diffpool", "x", "error_x") == 0.0833
    assert published_error("ring(n=20)", "gmt", "x", "error_x") is None
    assert published_error("ring", "topk", "x", "error_x") is None


@pytest.mark.parametrize(
    ("name", "model", "more"),
    [
        ("scores", {}, {"scores": None}),
        ("scores", {}, {"scores": {"accuracy": "high"}}),
        ("config.model.ratio", {"ratio": {"a": 1}}, {}),
        ("config.model.objective", {"objective": None}, {}),
        ("predicted", {}, {"predicted": 3}),
    ],
)
def test_a_row_that_is_no_reconstruction_is_named(
    name: str, model: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    good = reconstruction_row("gmt", {"accuracy": 90.0})
    config = {**good.config, "model": {**good.model, **model}}
    bad = replace(good, key="bad", config=config, more={**good.more, **more})
    assert len(tallies([good])) == 1
    for use in (tallies, lambda rows: with_molecule_scores(rows, tmp_path)):
        with pytest.raises(StoreError, match=f"row bad cannot be used: {name} is missing"):
            use([good, bad])
