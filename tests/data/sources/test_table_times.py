from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas
import pytest

from gmpool.data.sources.table_columns import Table
from gmpool.data.sources.table_times import read_times, times_of


def read(*cells: object) -> tuple[list[float], dict[int, str]]:
    table = Table.read(pandas.DataFrame({"smiles": ["C"] * len(cells), "when": list(cells)}))
    values, wrong = read_times(table, 1)
    return values.tolist(), wrong


def seconds(*date: int) -> float:
    return datetime(*date, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["2019", "2021", "2020"], [2019, 2021, 2020]),
        (["3", "1.5", "-2"], [3, 1.5, -2]),
        (["1,5", "2,5"], [1.5, 2.5]),
        (["2024-05-31", "2023-01-01"], [seconds(2024, 5, 31), seconds(2023, 1, 1)]),
        (["2024", "2024-02", "2024-02-03"],
         [seconds(2024, 1, 1), seconds(2024, 2, 1), seconds(2024, 2, 3)]),
        (["2023", "2022", "2023-05"],
         [seconds(2023, 1, 1), seconds(2022, 1, 1), seconds(2023, 5, 1)]),
        (["2024-05-31T12:30", "2024-05-31 12:30:15Z"],
         [seconds(2024, 5, 31, 12, 30), seconds(2024, 5, 31, 12, 30, 15)]),
        (["2024-05-31T12:00+02:00"], [seconds(2024, 5, 31, 10)]),
        ([pandas.Timestamp("2020-03-01")], [seconds(2020, 3, 1)]),
    ],
)  # fmt: skip
def test_dates_years_and_numbers(cells: list[object], values: list[float]) -> None:
    assert read(*cells) == (values, {})


@pytest.mark.parametrize(
    ("cells", "row", "reason"),
    [
        (["2024-05-31", "31.05.2024"], 1, "time '31.05.2024' in column 'when' is no ISO date such"),
        (["2024-05-31", "2024-13-01"], 1, "time '2024-13-01' in column 'when' is no ISO date"),
        (["2024-05-31", "0001-01-01T00:00+14:00x"], 1, "is no ISO date"),
        (["2024-05-31", ""], 1, "no time in column 'when'"),
        (["1.5", "2.5", "soon"], 2, "time 'soon' in column 'when' is no ISO date .*no year and no"),
        (["1.5", "NA", "3"], 1, "no time in column 'when'"),
        (["2019", "2020", "1e39"], 2, "time '1e39'"),
    ],
)
def test_what_is_no_time_says_so(cells: list[object], row: int, reason: str) -> None:
    values, wrong = read(*cells)
    assert list(wrong) == [row]
    assert re.search(reason, wrong[row])
    assert np.isnan(values).tolist() == [at == row for at in range(len(cells))]


def test_the_times_of_some_rows_are_kept_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,when\nC, 2020 \nN,2019\nO,2021\n")
    table = Table.read(path)
    values, _ = read_times(table, 1)
    times = times_of(table, 1, values, [2, 0])
    assert (times.column, times.words) == ("when", ("2021", "2020"))
    assert times.values.tolist() == [2021, 2020]
