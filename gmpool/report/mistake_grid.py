"""The worst mistakes of lines, drawn where they are molecules."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gmpool.record import Row
from gmpool.report.grid import Card, Column, Grid, Square
from gmpool.report.molecule_drawing import can_draw, molecule_svg
from gmpool.report.number_text import NONE, measured
from gmpool.report.recorded_mistakes import Mistake, recorded_mistakes

EACH = 12
"""Of a label column of a line."""
FEWEST = 4
"""Where there are many columns and lines; then only so many of these are shown as have room."""
MOST_SHOWN = 60
"""On a page: a drawing is some kilobytes."""
Line = tuple[str, str, Sequence[Row]]
"""Set, what the line is called, and its rows."""


def worst(rows: Sequence[Row]) -> dict[str, list[tuple[Mistake, int]]]:
    """By label column the mistakes of all runs, the worst first, each graph once; and of how many
    seeds it is among those that are kept."""
    found: dict[str, list[tuple[int, Mistake]]] = {}
    for row in rows:
        for mistake in recorded_mistakes(row) or ():
            found.setdefault(mistake.label, []).append((row.seed, mistake))
    made = {}
    for label, of_label in found.items():
        seeds: dict[int, set[int]] = {}
        first: dict[int, Mistake] = {}
        for seed, mistake in sorted(of_label, key=lambda each: -each[1].badness):
            seeds.setdefault(mistake.graph, set()).add(seed)
            first.setdefault(mistake.graph, mistake)
        made[label] = [(mistake, len(seeds[graph])) for graph, mistake in first.items()]
    return made


def mistake_grids(lines: Sequence[Line]) -> list[Grid]:
    """One for each line whose rows keep mistakes, as far as a page has room."""
    saying = [(dataset, name, rows, worst(rows)) for dataset, name, rows in lines]
    saying = [each for each in saying if each[3]]
    columns = sum(len(found) for *_, found in saying)
    each = max(FEWEST, min(EACH, MOST_SHOWN // max(columns, 1)))
    room, made = MOST_SHOWN, []
    for dataset, name, rows, found in saying:
        taken = {label: of[:each] for label, of in list(found.items())[: room // each]}
        room -= each * len(taken)
        if taken:
            seeds = len({row.seed for row in rows})
            made.append(_grid(dataset, name, seeds, taken, len(found)))
    if len(saying) > len(made):
        more = f"lines without room on the page: {len(saying) - len(made)}"
        made[-1] = replace(made[-1], notes=[*made[-1].notes, more])
    return made


def _grid(
    dataset: str, name: str, seeds: int, found: dict[str, list[tuple[Mistake, int]]], labels: int
) -> Grid:
    shown = [each for of in found.values() for each in of]
    numbers = any(mistake.error is not None for mistake, _ in shown)
    several = len(found) > 1
    fields = [_fields(mistake, count, seeds, several) for mistake, count in shown]
    headings = list(dict.fromkeys(heading for each in fields for heading in each))
    columns = [
        Column(
            heading,
            [Square(each.get(heading, NONE)) for each in fields],
            left=heading in ("label", "molecule", "graph"),
        )
        for heading in headings
    ]
    drawn = can_draw() and any(mistake.smiles for mistake, _ in shown)
    return Grid(
        title=f"Worst mistakes: {name} on {dataset}",
        columns=columns,
        notes=_notes(shown, numbers, seeds, len(found), labels),
        whole=[],
        cards=[_card(*each) for each in zip(shown, fields, strict=True)] if drawn else (),
        essential=False,
    )


def _fields(mistake: Mistake, count: int, seeds: int, several: bool) -> dict[str, str]:
    """By heading."""
    known = mistake.smiles is not None
    found = {"label": mistake.label} if several else {}
    found |= {"molecule": mistake.smiles or ""} if known else {}
    found |= {"place" if known else "graph": mistake.place}
    found |= {"truth": _value(mistake.truth), "prediction": _value(mistake.said)}
    if mistake.error is not None:
        found["error"] = ("+" if mistake.error > 0 else "") + measured(mistake.error, None)
    if mistake.probability is not None:
        # What is nearly sure is not sure.
        percent = f"{100 * mistake.probability:.1f}"
        found["probability"] = "> 99.9 %" if percent == "100.0" else f"{percent} %"
    if mistake.deviation is not None:
        in_percent = mistake.error is None
        found["deviation"] = (
            f"{100 * mistake.deviation:.1f} %" if in_percent else measured(mistake.deviation, None)
        )
    return found | ({"seeds": f"{count} of {seeds}"} if seeds > 1 else {})


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else measured(value, None)


def _card(shown: tuple[Mistake, int], fields: dict[str, str]) -> Card:
    mistake, _ = shown
    facts = [(name, value) for name, value in fields.items() if name not in ("molecule", "label")]
    draw = partial(molecule_svg, mistake.smiles) if mistake.smiles else _nothing
    return Card(fields.get("label", ""), draw, mistake.smiles or mistake.place, facts)


def _nothing() -> None:
    return None


def _notes(
    shown: Sequence[tuple[Mistake, int]], numbers: bool, seeds: int, labels: int, of: int
) -> list[str]:
    if numbers:
        said = ["the test graphs with the largest errors, of each label column the worst first"]
    elif any(mistake.probability is not None for mistake, _ in shown):
        said = [
            "the wrong answers to test graphs of which the model was surest; probability: of what "
            "was predicted"
        ]
    else:
        said = ["wrong answers to test graphs"]
    if seeds > 1:
        said.append(
            "each graph as in the run where it is worst; seeds: of how many it is among the worst"
        )
    if any(mistake.deviation is not None for mistake, _ in shown):
        what = "what the ensemble expected of its error"
        if not numbers:
            what = "of the probabilities of the members"
        said.append(f"deviation: {what}")
    if of > labels:
        said.append(f"the first {labels} of {of} label columns")
    return said
