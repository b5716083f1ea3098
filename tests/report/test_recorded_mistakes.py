"""The worst mistakes, as rows keep them, after somebody changed them."""

from __future__ import annotations

from typing import Any

import pytest
from report_rows import row

from gmpool.errors import UserError
from gmpool.report.recorded_mistakes import LONGEST, MOST, Mistake, recorded_mistakes

NUMBER = {"label": "p", "graph": 4, "truth": 1.5, "said": 1}
ANSWER = {"label": "q", "graph": 0, "truth": "yes", "said": "no", "probability": 0.75}


def test_there_and_back() -> None:
    whole = {**ANSWER, "line": 1234, "smiles": "CCO", "deviation": 0.125}
    found = recorded_mistakes(row(mistakes=[NUMBER, whole]))
    assert found == [
        Mistake("p", 4, 1.5, 1),
        Mistake("q", 0, "yes", "no", 1234, "CCO", 0.75, 0.125),
    ]
    assert [each.to_json() for each in found] == [NUMBER, whole]
    assert recorded_mistakes(row()) is None
    assert recorded_mistakes(row(mistakes=[])) == []


def test_how_bad_each_is_and_where() -> None:
    number, answer = (Mistake(**each) for each in (NUMBER, {**ANSWER, "line": 1234}))
    assert (number.error, number.badness, number.place) == (-0.5, 0.5, "graph 4")
    assert (answer.error, answer.badness, answer.place) == (None, 0.75, "line 1,234")
    assert Mistake("q", 0, "a", "b").badness == 0


@pytest.mark.parametrize(
    "changed",
    [
        "x",
        {"p": [NUMBER]},
        [NUMBER, 7],
        [[NUMBER]],
        [NUMBER] * (MOST + 1),
        [{}],
        [{**NUMBER, "label": None}],
        [{**NUMBER, "graph": "4"}],
        [{**NUMBER, "graph": -1}],
        [{**NUMBER, "graph": True}],
        [{**NUMBER, "line": 2.0}],
        [{**NUMBER, "truth": None}],
        [{**NUMBER, "truth": "yes"}],
        [{**NUMBER, "said": 1e300}],
        [{**NUMBER, "said": [1]}],
        [{**NUMBER, "other": 1}],
        [{**NUMBER, "smiles": 7}],
        [{**NUMBER, "smiles": "C" * (LONGEST + 1)}],
        [{**ANSWER, "probability": 1.5}],
        [{**ANSWER, "deviation": -0.5}],
        [{key: value for key, value in ANSWER.items() if key != "said"}],
    ],
)
def test_what_somebody_changed_is_an_error_that_names_the_run(changed: Any) -> None:
    with pytest.raises(UserError, match=r"mistakes .* gmt on own, seed 7 fold 3"):
        recorded_mistakes(row(mistakes=changed, dataset="own", seed=7, fold=3))
