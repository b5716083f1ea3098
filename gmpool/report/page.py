"""A report of some runs as one file: HTML with the picture inside, or Markdown beside a PNG."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from gmpool.errors import UserError
from gmpool.report.figures import learning_curves
from gmpool.report.summary import Summary, summarise
from gmpool.report.tables import HEADINGS, cells, footnote, markdown

Row = dict[str, Any]

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem} h2{font-size:1.1rem;margin-top:2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .7rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
th:nth-child(-n+3),td:nth-child(-n+3){text-align:left}
thead th{border-bottom:2px solid #888} tbody tr:hover{background:#f5f7fa}
img{max-width:100%} .note{color:#555;font-size:.9rem} code{background:#f2f2f2;padding:.1em .3em}
"""


def write_report(rows: Sequence[Row], path: Path, *, command: str) -> None:
    """`path` ends in .html (one self-contained file) or .md (with a PNG of the same name)."""
    if path.suffix not in (".html", ".md"):
        raise UserError(f"a report is written as .html or .md, got {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".html":
            path.write_text(html(rows, command=command), encoding="utf-8")
            return
        beside = path.with_suffix(".png")
        beside.write_bytes(learning_curves(rows))
        path.write_text(_markdown(rows, beside.name, command), encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"the report could not be written to {path}: {error}; the runs are recorded, so the "
            f"same command with another --report makes it at once"
        ) from error


def _title(summaries: Sequence[Summary]) -> str:
    datasets = ", ".join(dict.fromkeys(s.dataset for s in summaries))
    methods = ", ".join(dict.fromkeys(s.method for s in summaries))
    return f"{methods} on {datasets}"


def facts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Where the rows come from; several of a kind are all named."""
    versions = (", ".join(f"{name} {n}" for name, n in row["versions"].items()) for row in rows)
    return [
        ("device", _each(row["device"] for row in rows)),
        ("versions", _each(versions)),
        ("commit", _each(row["commit"] or "not a checkout" for row in rows)),
        ("written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
    ]


def fact_list(rows: Sequence[Row]) -> str:
    """`facts` as terms of a <dl>."""
    return "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts(rows))


def _each(values: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(values))


def image(picture: bytes, about: str) -> str:
    """A PNG inside the page."""
    data = base64.b64encode(picture).decode()
    return f'<img alt="{escape(about)}" src="data:image/png;base64,{data}">'


def html(rows: Sequence[Row], *, command: str) -> str:
    """One self-contained page, with a picture per set."""
    summaries = summarise(rows)
    curves = {
        d: [r for r in rows if r["dataset"] == d] for d in dict.fromkeys(r["dataset"] for r in rows)
    }
    pictures = "".join(
        (f"<h3>{escape(d)}</h3>" if len(curves) > 1 else "")
        + image(learning_curves(of), f"Learning curves on {d}")
        for d, of in curves.items()
    )
    head = "".join(f"<th>{escape(h)}</th>" for h in HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells(s)) + "</tr>" for s in summaries
    )
    options = "".join(
        f"<dt>{escape(f'{s.method} on {s.dataset}')}</dt><dd><code>{escape(s.options)}</code></dd>"
        for s in summaries
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{escape(_title(summaries))}</title>
<style>{STYLE}</style>
<h1>{escape(_title(summaries))}</h1>
<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>
<p class="note">{escape(footnote(summaries))}</p>
<h2>Learning curves</h2>
<p class="note">Thin: each run. Bold: their mean, while at least half of the runs go on.</p>
{pictures}
<h2>How it was made</h2>
<p><code>{escape(command)}</code></p>
<dl>{fact_list(rows)}{options}</dl>
</html>
"""


def _markdown(rows: Sequence[Row], picture: str, command: str) -> str:
    summaries = summarise(rows)
    made = "\n".join(f"- {name}: {value}" for name, value in facts(rows))
    options = "\n".join(f"- {s.method} on {s.dataset}: `{s.options}`" for s in summaries)
    return (
        f"# {_title(summaries)}\n\n{markdown(summaries)}\n![Learning curves]({picture})\n\n"
        f"## How it was made\n\n    {command}\n\n{made}\n{options}\n"
    )
