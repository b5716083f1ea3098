from __future__ import annotations

import pytest

from gmpool.report.number_text import duration, measured, pair


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (12.34, "12.3 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (245.2, "4 min 05 s"),
        (3599.6, "1 h 00 min"),
        (7620, "2 h 07 min"),
        (360000, "100 h 00 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [(80.0, 1.234, "80.00 ± 1.23"), (80.0, None, "80.00"), (None, None, "–")],
)
def test_pair(mean: float | None, std: float | None, text: str) -> None:
    assert pair(mean, std) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.00123456, 0.0001, "0.00123 ± 0.00010"),
        (0.5, None, "0.500"),
        (12.345, 1.0, "12.3 ± 1.0"),
        (12345.6, None, "12346"),
        (1.5e9, 2e7, "1.5e+09 ± 2e+07"),
        (-0.25, None, "-0.250"),
        (0.0, 0.0, "0.00 ± 0.00"),
        (None, None, "–"),
        (float("inf"), None, "–"),
    ],
)
def test_measured(mean: float | None, std: float | None, text: str) -> None:
    assert measured(mean, std) == text
