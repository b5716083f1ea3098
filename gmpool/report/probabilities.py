"""What recorded outputs say of probabilities, label column by label column."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gmpool.packed_numbers import Array
from gmpool.report.recorded_outputs import Outputs


class Probable(NamedTuple):
    """Of one label column of runs together."""

    name: str
    calibrated: Array
    """As predictions say it. [n]"""
    raw: Array | None
    """Before calibration; None where that is not kept."""
    came_true: Array
    """bool [n]"""

    @property
    def was_calibrated(self) -> bool:
        """Whether it is known that calibration changed something."""
        return self.raw is not None and bool((self.raw != self.calibrated).any())


def probable(runs: Sequence[Outputs]) -> list[Probable]:
    """None of numbers, and of runs that do not say."""
    first = runs[0]
    label = ", ".join(first.labels)
    if first.task == "binary":
        said = [run for run in runs if run.line is not None]
        columns = [
            _answers(name, [(run.made[:, at], run.truth[:, at], run.line[at]) for run in said
                            if run.line is not None])
            for at, name in enumerate(first.labels)
        ]  # fmt: skip
        return [column for column in columns if column is not None]
    pairs = [
        (run.margin, run.truth[:, 0], run.line[0])
        for run in runs
        if run.margin is not None and run.line is not None
    ]
    if pairs:
        column = _answers(f"{label} = {first.classes[1]}", pairs)
        return [] if column is None else [column]
    sure = [run for run in runs if run.sure is not None]
    if not sure:
        return []
    likely = np.concatenate([run.sure for run in sure if run.sure is not None])
    right = np.concatenate([run.truth[:, 0] == run.made[:, 0] for run in sure])
    return [Probable(f"predicted class of {label}", likely, None, right)]


def _answers(name: str, runs: Sequence[tuple[Array, Array, Array]]) -> Probable | None:
    """Of log odds, truth and line of each run; None without a label."""
    parts = []
    for odds, truth, line in runs:
        there = ~np.isnan(truth)
        odds = odds[there]
        parts.append((_sigmoid(line[0] * odds + line[1]), _sigmoid(odds), truth[there] == 1))
    if not sum(len(truth) for *_, truth in parts):
        return None
    calibrated, raw, true = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Probable(name, calibrated, raw, true)


def _sigmoid(odds: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-odds.clip(-500, 500))))
