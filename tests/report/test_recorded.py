from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from report_rows import row

from gmpool.config import ModelConfig, TrainConfig
from gmpool.data import CATALOGUE
from gmpool.engine.cell import Cell, Line
from gmpool.record import Row
from gmpool.report.recorded import rows_of_cells

CELLS = [
    Cell(Line(name, name, {}), dataset, ModelConfig(method=name), TrainConfig(), (42, 43), 2)
    for name in ("gmt", "mean")
    for dataset in ("MUTAG", "DD")
]
GMT, GMT_DD, MEAN, _ = CELLS


def recorded(cell: Cell, *scores: Sequence[float]) -> list[Row]:
    """The rows of a cell: scores[seed][fold]."""
    return [
        row(
            key=f"{cell.line.label} {cell.dataset} {seed} {fold}",
            dataset=cell.dataset,
            method=cell.model.method,
            seed=seed,
            fold=fold,
            config={"model": asdict(cell.model), "train": asdict(cell.train)},
            data_digest=CATALOGUE[cell.dataset].content,
            test=test,
        )
        for seed, tests in zip(cell.seeds, scores, strict=False)
        for fold, test in enumerate(tests, start=1)
    ]


def test_rows_go_to_their_cells_and_others_to_none() -> None:
    mine = recorded(GMT, [80.0, 81.0], [82.0, 83.0])
    other = recorded(MEAN, [70.0, 71.0])
    elsewhere = [
        replace(mine[0], seed=7),
        replace(mine[0], fold=3),
        replace(mine[0], task="reconstruct"),
        replace(mine[0], config={**mine[0].config, "train": {"lr": 1.0}}),
        replace(mine[0], config={**mine[0].config, "train": {"of another version": 1}}),
    ]
    found = rows_of_cells(CELLS, [*elsewhere, *other, *mine[::-1]])
    assert [x.rows for x in found] == [mine, [], other, []]
    assert not any(x.left_out for x in found)


def test_a_field_that_a_row_is_too_old_to_have_is_the_default() -> None:
    (old,) = recorded(GMT, [80.0])
    for part, field in (("model", "conv"), ("model", "pool"), ("train", "select_by")):
        del old.config[part][field]
    assert rows_of_cells([GMT], [old])[0].rows == [old]


def test_of_a_run_done_twice_the_first_counts() -> None:
    first, again = recorded(GMT, [80.0]), recorded(GMT, [99.0])
    assert rows_of_cells([GMT], first + again)[0].rows == first


def test_other_data_and_other_splits_are_left_out_and_counted() -> None:
    mine = recorded(GMT, [80.0, 81.0])
    other = recorded(GMT, [1.0, 1.0], [1.0, 1.0])
    data = [replace(one, data_digest="of other data") for one in other]
    splits = [replace(recorded(GMT, [2.0])[0], split_digest="another")]
    (found,) = rows_of_cells([GMT], [*data, *mine, *splits])
    assert (found.rows, found.left_out) == (mine, 5)
