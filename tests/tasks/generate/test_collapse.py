from __future__ import annotations

from generation_rows import cell, generation_row

from gmpool.tasks.generate.collapse import Collapse, collapse_columns
from gmpool.tasks.generate.recorded import lines_by_set

RUNS = (  # strict, unique and distinct at two iterations
    ([60.0, 20.0], [50.0, 4.9], [900, 100]),
    ([50.0, 40.0], [3.0, 5.0], [40, 300]),
    ([10.0, 0.0], [90.0, None], [70, 0]),
    ([10.0, 51.0], [90.0, 0.1], [70, 1]),
)


def test_counts_by_hand() -> None:
    rows = [
        generation_row("mean", {"strict": s, "unique": u, "distinct": d}, seed=seed)
        for seed, (s, u, d) in enumerate(RUNS)
    ]
    (line,) = lines_by_set([cell("mean", rows)])["QM9"]
    assert Collapse.of(line, 1000) == (50.5, 0, 2, 2, 1)
    assert Collapse.of(line, 500) == (70.0, 40, 1, 1, 0), "at an earlier end"
    shown = [column.squares[0].text for column in collapse_columns([line], 1000)]
    assert shown == ["50.5", "0", "2 of 4", "2 of 4", "1 of 4"]


def test_a_line_without_runs() -> None:
    row = generation_row("mean", {"strict": [1.0]})
    (line,) = lines_by_set([cell("mean", [row])])["QM9"]
    empty = line.__class__("max", "max", 3, (), 0, 0)
    assert Collapse.of(empty, 500) == (None, None, 0, 0, 0)
    shown = collapse_columns([line, empty], 500)
    assert {column.squares[1].text for column in shown} == {"–"}
