from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gmpool.engine.schedule import cosine_with_warmup


@pytest.mark.parametrize(
    ("step", "factor"),
    [(0, 0.0), (1, 0.1), (5, 0.5), (10, 1.0), (35, 0.8535533906), (60, 0.5), (110, 0.0)],
)
def test_values_at_ten_steps_of_warmup_and_a_hundred_of_cosine(step: int, factor: float) -> None:
    assert cosine_with_warmup(step, warmup=10, total=110) == pytest.approx(factor, abs=1e-9)


def test_no_warmup_starts_at_one() -> None:
    assert cosine_with_warmup(0, warmup=0, total=4) == 1.0
    assert cosine_with_warmup(1, warmup=0, total=4) == pytest.approx(0.5 + math.sqrt(0.125))


@given(st.integers(0, 50), st.integers(1, 50))
def test_rises_to_one_then_falls_to_zero(warmup: int, rest: int) -> None:
    total = warmup + rest
    factors = [cosine_with_warmup(s, warmup=warmup, total=total) for s in range(total + 1)]
    assert factors[: warmup + 1] == sorted(factors[: warmup + 1])
    assert factors[warmup] == max(factors) == 1.0
    assert factors[warmup:] == sorted(factors[warmup:], reverse=True)
    assert factors[-1] == pytest.approx(0.0, abs=1e-12)
