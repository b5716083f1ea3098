from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gmpool.data.ordered_splits import scaffold_parts, time_parts

SHARES = (80, 10, 10)


def published(sizes: list[int]) -> list[int]:
    """The rule as it was published, with lists of molecules."""
    ids = np.repeat(np.arange(len(sizes)), sizes).tolist()
    sets = [[i for i, owner in enumerate(ids) if owner == group] for group in range(len(sizes))]
    train: list[int] = []
    valid: list[int] = []
    test: list[int] = []
    for members in sorted(sets, key=lambda each: (len(each), each[0]), reverse=True):
        if len(train) + len(members) > 0.8 * len(ids):
            if len(train) + len(valid) + len(members) > 0.9 * len(ids):
                test += members
            else:
                valid += members
        else:
            train += members
    parts = (train, valid, test)
    return [next(p for p in range(3) if each[0] in parts[p]) for each in sets]


@given(st.lists(st.integers(1, 12), min_size=3, max_size=40))
def test_the_rule_is_the_published_one_where_that_fills_all_parts(sizes: list[int]) -> None:
    made, rule = scaffold_parts(np.array(sizes), SHARES).tolist(), published(sizes)
    assert set(made) == {0, 1, 2}
    if set(rule) == {0, 1, 2} and max(sizes) <= 0.8 * sum(sizes):
        assert made == rule


def test_a_scaffold_that_is_nearly_everything_is_train() -> None:
    assert scaffold_parts(np.array([1, 17, 1, 1]), SHARES).tolist() == [2, 0, 2, 1]
    assert scaffold_parts(np.array([9, 1]), (80, 0, 20)).tolist() == [0, 2]
    assert scaffold_parts(np.array([3, 4, 3]), (100, 0, 0)).tolist() == [0, 0, 0]
    assert scaffold_parts(np.array([3, 4, 3]), (33.3, 66.7, 0)).tolist() == [1, 1, 0]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 15)), min_size=3, max_size=60),
    st.sampled_from([(0.8, 0.1), (0.5, 0.25), (0.6, 0.0)]),
)
def test_time_goes_on_from_part_to_part(
    rows: list[tuple[int, int]], fractions: tuple[float, float]
) -> None:
    times = np.array([float(time) for time, _ in rows])
    groups = np.unique([group for _, group in rows], return_inverse=True)[1]
    train = max(round(len(rows) * fractions[0]), 1)
    valid = round(len(rows) * fractions[1])
    targets = [train, valid, len(rows) - train - valid]
    latest = [max(times[groups == group]) for group in range(groups.max() + 1)]
    wanted = [part for part in range(3) if targets[part]]
    made = time_parts(times, groups, targets)
    if len(set(latest)) < len(wanted):
        assert made is None
        return
    assert made is not None
    assert set(made.tolist()) == set(wanted)
    ends = [max(t for t, p in zip(latest, made, strict=True) if p == part) for part in wanted]
    begins = [min(t for t, p in zip(latest, made, strict=True) if p == part) for part in wanted]
    assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False))


def test_the_cut_is_where_the_times_come_nearest_to_what_was_asked() -> None:
    days = np.repeat([1.0, 2, 3, 4], [7, 2, 2, 1])
    made = time_parts(days, np.arange(12), [8, 2, 2])
    assert made is not None
    assert made.tolist() == [0] * 7 + [1] * 2 + [2] * 3
    # Whose latest row is late is tested with all its rows.
    again = time_parts(np.array([1.0, 1, 2, 3]), np.array([0, 1, 2, 0]), [2, 1, 1])
    assert again is not None
    assert again.tolist() == [2, 0, 1]
