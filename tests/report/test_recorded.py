from __future__ import annotations

from plan_rows import plan, recorded

from gmpool.report.recorded import rows_of_cells

PLAN = plan()
GMT, GMT_DD, MEAN, _ = PLAN.cells()


def test_rows_go_to_their_cells_and_others_to_none() -> None:
    mine = recorded(GMT, [80.0, 81.0], [82.0, 83.0])
    other = recorded(MEAN, [70.0, 71.0])
    elsewhere = [
        {**mine[0], "seed": 7},
        {**mine[0], "fold": 3},
        {**mine[0], "task": "reconstruct"},
        {**mine[0], "config": {**mine[0]["config"], "train": {"lr": 1.0}}},
        {**mine[0], "config": {**mine[0]["config"], "train": {"of another version": 1}}},
    ]
    found = rows_of_cells(PLAN.cells(), [*elsewhere, *other, *mine[::-1]])
    assert [x.rows for x in found] == [mine, [], other, []]
    assert not any(x.left_out for x in found)


def test_a_field_that_a_row_is_too_old_to_have_is_the_default() -> None:
    (old,) = recorded(GMT, [80.0])
    for part, field in (("model", "conv"), ("model", "pool"), ("train", "select_by")):
        del old["config"][part][field]
    assert rows_of_cells([GMT], [old])[0].rows == [old]


def test_of_a_run_done_twice_the_first_counts() -> None:
    first, again = recorded(GMT, [80.0]), recorded(GMT, [99.0])
    assert rows_of_cells([GMT], first + again)[0].rows == first


def test_other_data_and_other_splits_are_left_out_and_counted() -> None:
    mine = recorded(GMT, [80.0, 81.0])
    data = recorded(GMT, [1.0, 1.0], [1.0, 1.0])
    for row in data:
        row["data_digest"] = "of other data"
    splits = recorded(GMT, [2.0])
    splits[0]["split_digest"] = "another"
    (found,) = rows_of_cells([GMT], [*data, *mine, *splits])
    assert (found.rows, found.left_out) == (mine, 5)
