"""Shares inside intervals and sets, as rows keep them, after somebody changed them."""

from __future__ import annotations

from typing import Any

import pytest
from report_rows import row

from gmpool.errors import UserError
from gmpool.report.recorded_sureness import MOST, Held, recorded_sureness


def said(**changed: Any) -> dict[str, Any]:
    found = {"held_out": 64, "promised": [0.5, 0.9], "share": [[0.55, 1]], "width": [[1.2, None]]}
    return {**found, **changed}


def test_what_is_sound_is_read() -> None:
    assert recorded_sureness(row(sureness=said())) == Held(
        64, [0.5, 0.9], [[0.55, 1]], [[1.2, None]]
    )
    nothing = said(promised=[], share=[[], []], width=[[], []])
    assert recorded_sureness(row(sureness=nothing)) == Held(64, [], [[], []], [[], []])
    assert recorded_sureness(row()) is None


@pytest.mark.parametrize(
    "changed",
    [
        "x",
        [said()],
        said(held_out=None),
        said(held_out=-1),
        said(promised=0.5),
        said(promised=["0.5", "0.9"]),
        said(promised=[0.5, 1.0]),
        said(promised=[0.9, 0.9]),
        said(promised=[0.5]),
        said(promised=None),
        said(promised=[n / 100 for n in range(1, MOST + 2)], share=[], width=[]),
        said(share=None),
        said(share=[0.5, 0.9]),
        said(share=[[0.55, 1.01]]),
        said(share=[[0.55, -0.1]]),
        said(share=[[0.55, True]]),
        said(share=[[0.55, "1"]]),
        said(share=[[0.5, 0.9], [0.5, 0.9]]),
        said(width=[[1.2]]),
        said(width=[[1.2, 1e300]]),
        said(width={"p": [1.2, 3.4]}),
    ],
)
def test_what_somebody_changed_is_an_error_that_names_the_run(changed: Any) -> None:
    with pytest.raises(UserError, match=r"shares inside intervals .* gmt on own, seed 7 fold 3"):
        recorded_sureness(row(sureness=changed, dataset="own", seed=7, fold=3))
