"""A comparison as one HTML file with its pictures inside."""

from __future__ import annotations

from html import escape

from gmpool.report.comparison import Comparison
from gmpool.report.grid import Column, Square, columns, notes
from gmpool.report.page import STYLE, fact_list, image
from gmpool.report.plots import critical_differences, intervals, no_diagram

# The first column stays in sight while the others scroll.
GRID_STYLE = """
body{max-width:none} .wide{overflow-x:auto} p,ul,dl{max-width:72rem}
.grid th:nth-child(n+2),.grid td:nth-child(n+2){text-align:right}
.grid th:first-child{text-align:left;position:sticky;left:0;background:#fff}
.grid th,.grid td{padding:.3rem .5rem;vertical-align:top}
small{color:#666} u{text-underline-offset:.2em} sup{line-height:0}
"""


def comparison_page(comparison: Comparison, *, command: str) -> str:
    """command: how the page was made."""
    c = comparison
    grid = columns(c)
    head = "".join(map(_heading, grid))
    body = "".join(
        f"<tr><th>{_square(label)}</th>" + "".join(f"<td>{_square(s)}</td>" for s in rest) + "</tr>"
        for label, *rest in zip(*(column.squares for column in grid), strict=True)
    )
    said = "".join(f"<li>{escape(note)}</li>" for note in notes(c))
    if any(s.tested for s in c.scores.values()):
        said += "<li>underlined: likewise after Holm's correction for the tests on a set</li>"
    diagram = critical_differences(c)
    ranks = (
        f'<p class="note">{escape(no_diagram(c))}</p>'
        if diagram is None
        else '<p class="note">A bar joins lines whose average ranks do not differ significantly '
        f"(Nemenyi, p &lt; 0.05).</p>{image(diagram, 'Critical-difference diagram')}"
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{escape(c.plan.title)}</title>
<style>{STYLE}{GRID_STYLE}</style>
<h1>{escape(c.plan.title)}</h1>
<div class="wide">
<table class="grid"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>
</div>
<ul class="note">{said}</ul>
<h2>Scores and the paper's</h2>
{image(intervals(c), "Scores with intervals, a panel per set")}
<h2>Average ranks</h2>
{ranks}
<h2>How it was made</h2>
<p><code>{escape(command)}</code></p>
<dl>{fact_list(c.rows)}</dl>
</html>
"""


def _heading(column: Column) -> str:
    small = f"<br><small>{escape(column.small)}</small>" if column.small else ""
    return f"<th>{escape(column.heading)}{small}</th>"


def _square(square: Square) -> str:
    text = escape(square.text)
    if square.best_corrected:
        text = f"<u>{text}</u>"
    if square.best:
        text = f"<b>{text}</b>"
    if square.marks:
        text += f"<sup>{square.marks}</sup>"
    return f"{text}<br><small>{escape(square.small)}</small>" if square.small else text
