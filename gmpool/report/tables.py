"""Summaries as a table: for the terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from rich.box import SIMPLE_HEAVY
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gmpool.report.summary import Summary

HEADINGS = (
    "dataset", "method", "metric", "test", "valid", "paper", "difference", "seeds × folds",
    "epochs", "time", "parameters",
)  # fmt: skip
ESSENTIAL = ("dataset", "method", "test", "paper", "difference", "time")
UNITS = {"accuracy": "%", "roc_auc": "%", "rmse": ""}


def pair(mean: float | None, std: float | None) -> str:
    if mean is None:
        return "–"
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def duration(seconds: float) -> str:
    """12.3 s, 4 min 05 s, 2 h 07 min."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def cells(summary: Summary) -> tuple[str, ...]:
    s = summary
    paper = s.paper
    difference = "–"
    if paper and s.test_mean is not None:
        difference = f"{s.test_mean - paper.mean:+.2f}"
    mark = "" if s.std_over == "seeds" or s.test_std is None else " ᶠ"
    return (
        s.dataset,
        s.method,
        s.metric + (f" {UNITS[s.metric]}" if UNITS[s.metric] else ""),
        pair(s.test_mean, s.test_std) + mark,
        pair(s.valid_mean, None),
        pair(paper.mean, paper.std) if paper else "–",
        difference,
        f"{s.seeds} × {s.folds}",
        str(s.epochs),
        duration(s.seconds),
        f"{s.parameters:,}",
    )


def footnote(summaries: Sequence[Summary]) -> str:
    """What a reader must know to compare our column with the paper's."""
    notes = []
    if any(s.paper for s in summaries):
        notes.append(
            "paper: mean ± deviation over 10 seeds (TU sets: the mean of 10 folds per seed)"
        )
    if any(s.std_over == "folds" and s.test_std is not None for s in summaries):
        notes.append("ᶠ: one seed only, the deviation is over folds")
    return "; ".join(notes)


def terminal(summaries: Sequence[Summary], width: int) -> RenderableType:
    """The widest of these that `width` characters hold: all columns, the essential ones, or one
    upright block per summary."""
    for headings in (HEADINGS, ESSENTIAL):
        table = _lines(summaries, headings)
        if Console(width=10**4).measure(table).maximum <= width:
            return Group(table, Text(footnote(summaries)))
    return Group(*(_upright(s) for s in summaries), Text(footnote(summaries)))


def _lines(summaries: Sequence[Summary], headings: Sequence[str]) -> Table:
    table = Table(box=SIMPLE_HEAVY)
    for heading in headings:
        left = heading in ("dataset", "method", "metric")
        table.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for summary in summaries:
        named = dict(zip(HEADINGS, cells(summary), strict=True))
        table.add_row(*(Text(named[heading]) for heading in headings))
    return table


def _upright(summary: Summary) -> Table:
    table = Table(show_header=False)
    for heading, cell in zip(HEADINGS, cells(summary), strict=True):
        table.add_row(heading, Text(cell))
    return table


def markdown(summaries: Sequence[Summary]) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |"]
    lines.append("|" + " --- |" * 3 + " ---: |" * (len(HEADINGS) - 3))
    for summary in summaries:
        lines.append("| " + " | ".join(c.replace("|", r"\|") for c in cells(summary)) + " |")
    return "\n".join([*lines, "", footnote(summaries), ""])


def as_csv(summaries: Sequence[Summary]) -> str:
    """Plain numbers, one column each."""
    out = io.StringIO()
    names = [
        "dataset", "method", "metric", "runs", "seeds", "folds", "test_mean", "test_std",
        "std_over", "valid_mean", "paper_mean", "paper_std", "epochs", "seconds", "parameters",
        "options",
    ]  # fmt: skip
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for s in summaries:
        paper = s.paper
        extra = {"paper_mean": paper.mean, "paper_std": paper.std} if paper else {}
        writer.writerow({**s.to_json(), **extra})
    return out.getvalue()


def as_json(summaries: Sequence[Summary]) -> str:
    return json.dumps([s.to_json() for s in summaries], indent=1)
