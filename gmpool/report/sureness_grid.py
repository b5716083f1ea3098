"""How sure predictions are, and whether rightly: calibration, deviations, intervals and sets."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from gmpool.record import Row
from gmpool.report.calibration_error import calibration_error
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.metrics import METRICS
from gmpool.report.number_text import NONE, measured, scored
from gmpool.report.probabilities import probable
from gmpool.report.recorded_outputs import Outputs, recorded_outputs
from gmpool.report.recorded_sureness import recorded_sureness
from gmpool.report.row_checks import is_number

Found = dict[str, float | None]
Line = tuple[str, str, Sequence[Row]]
"""Set, what the line is called, and its rows."""
MOST_LABELS = 12
_HEADINGS = {
    "raw_error": ("calibration error", "before calibration"),
    "error": ("calibration error", "as predicted"),
    "deviation": ("deviation", "mean"),
    "rank": ("deviation", "rank with error"),
}


def sureness(rows: Sequence[Row]) -> dict[str, Found]:
    """By label column: "raw_error" and "error" of calibration in percent, the mean "deviation", its
    "rank" correlation with the error, and of each coverage that was promised the share in percent
    that was "inside" and the "width"."""
    runs = [found for row in rows if (found := recorded_outputs(row)) is not None]
    if not runs or any(run.of != runs[0].of for run in runs):
        return {}
    made: dict[str, Found] = {name: {} for name in runs[0].labels[:MOST_LABELS]}
    for name, column in zip(made, _probable_by_label(runs), strict=False):
        if column is not None:
            if column.raw is not None:
                made[name]["raw_error"] = 100 * calibration_error(column.raw, column.came_true)
            made[name]["error"] = 100 * calibration_error(column.calibrated, column.came_true)
    for at, name in enumerate(made):
        made[name] |= _deviations(runs, at)
        made[name] |= _inside(rows, at)
    return {name: found for name, found in made.items() if found}


def _probable_by_label(runs: Sequence[Outputs]) -> list[Any]:
    columns = probable(runs)
    if runs[0].task != "binary":
        return list(columns)
    by_name = {column.name: column for column in columns}
    return [by_name.get(name) for name in runs[0].labels]


def _deviations(runs: Sequence[Outputs], at: int) -> Found:
    parts = [
        (run.deviation[:, at], run.made[:, at] - run.truth[:, at])
        for run in runs
        if run.deviation is not None
    ]
    if not parts:
        return {}
    deviation, error = (np.concatenate(each) for each in zip(*parts, strict=True))
    there = ~np.isnan(error)
    deviation, error = deviation[there], np.abs(error[there])
    if not len(deviation):
        return {}
    if runs[0].task != "regression":
        return {"deviation": 100 * float(deviation.mean())}
    varied = len(set(deviation.tolist())) > 1 and len(set(error.tolist())) > 1
    rank = float(stats.spearmanr(deviation, error).statistic) if varied else None
    return {"deviation": float(deviation.mean()), "rank": rank}


def _inside(rows: Sequence[Row], at: int) -> Found:
    """The mean over runs."""
    shares: dict[float, list[float]] = {}
    widths: dict[float, list[float]] = {}
    for row in rows:
        found = recorded_sureness(row)
        if found is None or at >= len(found.share):
            continue
        for promised, share, width in zip(
            found.promised, found.share[at], found.width[at], strict=True
        ):
            if share is not None and width is not None:
                shares.setdefault(promised, []).append(share)
                widths.setdefault(promised, []).append(width)
    made: Found = {}
    for promised in sorted(shares):
        made[f"inside {promised:g}"] = 100 * statistics.fmean(shares[promised])
        made[f"width {promised:g}"] = statistics.fmean(widths[promised])
    return made


def sureness_grids(lines: Sequence[Line]) -> list[Grid]:
    """One with a line for each label column of each line; none where no row says."""
    said = [(dataset, name, rows, sureness(rows)) for dataset, name, rows in lines]
    shown = [
        (dataset, name, label, each, _is_number(rows))
        for dataset, name, rows, found in said
        for label, each in found.items()
    ]
    if not shown:
        return []
    order = _order([each for *_, each, _ in shown])
    numbers = any(number for *_, number in shown)
    return [
        Grid(
            title="How sure it is",
            columns=[
                Column("dataset", [Square(each[0]) for each in shown], left=True, essential=False),
                Column("method", [Square(each[1]) for each in shown], left=True),
                Column("label", [Square(each[2]) for each in shown], left=True),
                *(
                    Column(
                        _heading(key, numbers)[0],
                        [Square(_text(key, each, number)) for *_, each, number in shown],
                        _heading(key, numbers)[1],
                    )
                    for key in order
                ),
            ],
            notes=[*_notes(order, numbers), *_members(lines)],
            whole=[],
            essential="deviation" in order,
        )
    ]


def _order(found: Sequence[Found]) -> list[str]:
    """What is shown: without errors before calibration where nothing was calibrated."""
    keys = dict.fromkeys(key for each in found for key in each)
    if all(each.get("raw_error") in (None, each.get("error")) for each in found):
        keys.pop("raw_error", None)
    order = [*_HEADINGS, *sorted(key for key in keys if key not in _HEADINGS)]
    order = [key for key in order if key in keys]
    promised = [key.split()[1] for key in order if key.startswith("width")]
    # Of widths one says enough: that of 90 %, or of the most that is promised.
    one = "0.9" if "0.9" in promised else max(promised, key=float, default="")
    return [key for key in order if not key.startswith("width") or key == f"width {one}"]


def _is_number(rows: Sequence[Row]) -> bool:
    found = (recorded_outputs(row) for row in rows)
    return next((each.task == "regression" for each in found if each is not None), False)


def _heading(key: str, numbers: bool) -> tuple[str, str]:
    if key in _HEADINGS:
        return _HEADINGS[key]
    kind, promised = key.split()
    words = {"inside": "inside", "width": "width" if numbers else "answers"}
    return words[kind], f"at {100 * float(promised):g} %"


def _text(key: str, found: Mapping[str, float | None], number: bool) -> str:
    value = found.get(key)
    if value is None:
        return NONE
    if key in ("raw_error", "error") or key.startswith("inside"):
        return f"{value:.1f} %"
    if key == "deviation" and not number:
        return f"{value:.1f} %"
    return f"{value:.2f}" if key == "rank" else measured(value, None)


def _notes(keys: Sequence[str], numbers: bool) -> list[str]:
    said = []
    if "error" in keys:
        said.append(
            "calibration error: how far probabilities are from the shares that come true, on "
            "average over bins of equal count"
        )
    if "deviation" in keys:
        what = "what the ensemble expects of its error"
        if not numbers:
            what = "of the probabilities of the members, on average"
        rank = "; its rank correlation with the error" * ("rank" in keys)
        said.append(f"deviation: {what}{rank}")
    if any(key.startswith("inside") for key in keys):
        what, width = "sets", "answers: how many a set has, on average; it may have none"
        if numbers:
            what, width = "intervals", "width: their median"
        most = [key.split()[1] for key in keys if key.startswith("inside")][-1]
        percent = f"{100 * float(most):g} %"
        said.append(
            f"inside at {percent}: how often {what} that promise to hold the truth in {percent} do "
            f"so in the test part; they rest on what was held out for validation; {width}"
        )
    return said


def _members(lines: Sequence[Line]) -> list[str]:
    """What several models give beside one."""
    said = []
    for dataset, name, rows in lines:
        with_members = [row for row in rows if isinstance(row.more.get("members"), list)]
        alone = [
            member["test"]
            for row in with_members
            for member in row.more["members"]
            if isinstance(member, Mapping) and is_number(member.get("test"))
        ]
        together = [row.test for row in with_members if row.test is not None]
        if alone and together:
            first = with_members[0]
            unit = f" {METRICS[first.metric].unit}".rstrip()
            spread = statistics.stdev(alone) if alone[1:] else None
            single = scored(first.metric, statistics.fmean(alone), spread)
            all_ = scored(first.metric, statistics.fmean(together), None)
            said.append(
                f"{name} on {dataset}: the {len(first.more['members'])} members have "
                f"{first.metric} {all_}{unit} together, {single}{unit} alone"
            )
    return said
