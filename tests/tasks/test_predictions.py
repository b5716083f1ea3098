from __future__ import annotations

from gmpool.tasks.predictions import Answer, Predictions

ANSWERS = [
    Answer(["CC", "1"], "t.csv:2", ["yes", 0.5]),
    Answer(["?", "2"], "t.csv:3", None, "no molecule"),
]


def test_answers_stand_beside_the_input() -> None:
    made = Predictions.beside(["smiles", "n"], {"pred": str, "p": float}, [ANSWERS], 2)
    assert made.columns == ["smiles", "n", "pred", "p", "problem"]
    assert made.kinds == [str, str, str, float, str]
    assert (made.total, made.renamed) == (2, {})
    first, second = made.rows
    assert first == (["CC", "1", "yes", 0.5, ""], "t.csv:2", None)
    assert second == (["?", "2", None, None, "no molecule"], "t.csv:3", "no molecule")


def test_rows_are_made_as_they_are_asked_for() -> None:
    taken = []
    parts = (taken.append(each) or [each] for each in ANSWERS)
    made = Predictions.beside([], {"p": float}, parts)
    assert taken == []
    next(made.rows)
    assert taken == ANSWERS[:1]


def test_names_of_the_input_are_never_taken() -> None:
    made = Predictions.beside(["p", "p_3", "problem"], {"p": float, "p_2": float}, iter([]))
    assert made.columns == ["p", "p_3", "problem", "p_2", "p_2_2", "problem_2"]
    assert made.renamed == {"p": "p_2", "p_2": "p_2_2", "problem": "problem_2"}
    assert len(set(made.columns)) == len(made.columns)
