"""Top-k of each class of reactions."""

from collections.abc import Sequence
from typing import Any

from gmpool.report.grid import Column, Grid, Square
from gmpool.report.provenance import facts
from gmpool.tasks.retrosynthesis.library import in_order
from gmpool.tasks.retrosynthesis.recorded import Line, OfClass, numbers, spread
from gmpool.tasks.retrosynthesis.top_k import DECODINGS, PUBLISHED, K

_SHOWN = (1, 10)
"""Of K."""
_USPTO = ("USPTO-50k", "USPTO-50k-given")
_WORDS = (
    "heteroatom alkylation and arylation", "acylation and related processes", "C–C bond formation",
    "heterocycle formation", "protections", "deprotections", "reductions", "oxidations",
    "functional group interconversion", "functional group addition",
)  # fmt: skip
"""What the classes 1, 2, … of these sets are."""


def by_class_grids(
    dataset: str, lines: Sequence[Line], *, title: str, notes: Sequence[str] = ()
) -> list[Grid]:
    """One for each k that is shown, the first with the numbers of all; none where no run says.
    notes: of the runs, below those of the classes."""
    there = [line for line in lines if any(run.by_class for run in line.runs)]
    if not there:
        return []
    names = in_order({name for line in there for run in line.runs for name in run.by_class})
    found = [{name: _of_class(line, name) for name in names} for line in there]
    sizes = [sorted({one.reactions for of in found for one in of[name]}) for name in names]
    heads = [
        Column("class", [Square(class_text(dataset, name)) for name in names], left=True),
        Column("reactions", [Square(" or ".join(map("{:,}".format, size))) for size in sizes]),
    ]
    records = [
        _record(dataset, line, name, of[name])
        for line, of in zip(there, found, strict=True)
        for name in names
    ]
    return [
        Grid(
            title=f"{title}, top-{k} %",
            columns=[
                *heads,
                *(
                    Column(line.label, [_square(line, of[name], k) for name in names])
                    for line, of in zip(there, found, strict=True)
                ),
            ],
            notes=[*_NOTES, *notes],
            records=records if k == _SHOWN[0] else [],
            whole=[],  # in JSON they stand in their lines
            facts=facts([run.row for line in there for run in line.runs]),
        )
        for k in _SHOWN
    ]


_NOTES = (
    "mean ± deviation over seeds, as the published code counts; reactions: of the test part",
    "nothing is tested here: of n reactions a share has a standard error of up to 50/√n points, "
    "which is 5 where n is 100",
)


def class_text(dataset: str, name: str) -> str:
    """A class with its words, where it has some."""
    numbered = dataset in _USPTO and name.isascii() and name.isdigit()
    if numbered and 1 <= int(name) <= len(_WORDS):
        return f"{name} {_WORDS[int(name) - 1]}"
    return name


def class_scores(line: Line) -> dict[str, Any]:
    """By the name of the class: reactions, and what the runs say of it."""
    names = in_order({name for run in line.runs for name in run.by_class})
    return {name: _scores(_of_class(line, name)) for name in names}


def _of_class(line: Line, name: str) -> list[OfClass]:
    return [run.by_class[name] for run in line.runs if name in run.by_class]


def _square(line: Line, found: Sequence[OfClass], k: int) -> Square:
    return Square(line.text(_values(found, PUBLISHED, k)))


def _values(found: Sequence[OfClass], decoding: str, k: int) -> list[float]:
    return numbers(float(one.top[decoding][K.index(k)]) for one in found)


def _scores(found: Sequence[OfClass]) -> dict[str, Any]:
    made: dict[str, Any] = {"reactions": max((one.reactions for one in found), default=0)}
    for decoding in DECODINGS:
        for k in K:
            mean, std = spread(_values(found, decoding, k))
            made[f"{decoding}_top_{k}_mean"], made[f"{decoding}_top_{k}_std"] = mean, std
    return made


def _record(dataset: str, line: Line, name: str, found: Sequence[OfClass]) -> dict[str, Any]:
    return {"dataset": dataset, "label": line.label, "method": line.method,
            "seeds": len(found), "class": name, **_scores(found)}  # fmt: skip
