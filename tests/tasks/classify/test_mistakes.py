"""The test graphs of which a model was most wrong, and that a report can read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from chains import CHAINS, chain_set
from report_rows import row

from gmpool.report.recorded_mistakes import recorded_mistakes
from gmpool.tasks.classify.mistakes import EACH, MOST_LABELS, mistakes

NAN = np.nan


def found(task: str, value: Any, truth: Any, **more: Any) -> list[dict[str, Any]]:
    """Of the first graphs of the chains, from the fourth on."""
    ids = list(range(3, 3 + len(value)))
    made = mistakes(chain_set(task), ids, np.array(value, float), np.array(truth, float), **more)
    assert recorded_mistakes(row(mistakes=made)) is not None
    return made


def test_the_largest_errors_of_numbers() -> None:
    """What is right, and what is not known, is no mistake."""
    value, truth = [[1.0], [2.0], [7.0], [4.0]], [[1.25], [NAN], [2.1234567], [4.0]]
    assert found("regression", value, truth, deviation=np.array([[0.5]] * 4)) == [
        {"label": "y", "graph": 5, "truth": 2.12346, "said": 7.0, "deviation": 0.5},
        {"label": "y", "graph": 3, "truth": 1.25, "said": 1.0, "deviation": 0.5},
    ]


def test_wrong_answers_of_which_it_was_surest() -> None:
    value = [[0.75, 0.1], [0.9, 0.9], [0.05, 0.2]]
    truth = [[0.0, NAN], [1.0, 1.0], [1.0, 1.0]]
    assert found("binary", value, truth) == [
        {"label": "oxygen", "graph": 5, "truth": "yes", "said": "no", "probability": 0.95},
        {"label": "oxygen", "graph": 3, "truth": "no", "said": "yes", "probability": 0.75},
        {"label": "long", "graph": 5, "truth": "yes", "said": "no", "probability": 0.8},
    ]
    assert "probability" not in found("binary", value, truth, ranked=False)[0]


def test_wrong_classes_even_where_none_is_likely() -> None:
    value = [[0.3, 0.4, 0.2, 0.1], [0.25, 0.15, 0.3, 0.3], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert found("multiclass", value, [0, 3, 0, -1]) == [
        {"label": "y", "graph": 3, "truth": "0", "said": "1", "probability": 0.4},
        {"label": "y", "graph": 4, "truth": "3", "said": "2", "probability": 0.3},
    ]


def test_the_molecule_and_its_line_where_they_are_known() -> None:
    data = chain_set()
    graphs = replace(data.graphs, graph_names=tuple(CHAINS))
    lines = tuple(range(2, 2 + len(CHAINS)))
    known = replace(data, graphs=graphs, lines=lines, molecules=tuple(CHAINS))
    value, truth = np.array([[1.0]]), np.array([[2.0]])
    (one,) = mistakes(known, [5], value, truth)
    assert one == {"label": "y", "graph": 5, "line": 7, "smiles": "CCN", "truth": 2, "said": 1}
    long = replace(known, graphs=replace(graphs, graph_names=("C" * 1001,) * len(CHAINS)))
    assert "smiles" not in mistakes(long, [5], value, truth)[0]


def test_only_the_first_of_many() -> None:
    made = found("regression", [[n + 1.0] for n in range(20)], [[0.0]] * 20)
    assert [one["said"] for one in made] == [20.0 - n for n in range(EACH)]
    data = chain_set("binary")
    names = tuple(f"p{n}" for n in range(MOST_LABELS + 2))
    wide = replace(data, graphs=replace(data.graphs, task_names=names, y=data.graphs.y[:, [0] * 6]))
    ones = np.ones((1, 6))
    assert [one["label"] for one in mistakes(wide, [0], ones, 0 * ones)] == list(
        names[:MOST_LABELS]
    )
