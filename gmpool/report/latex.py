r"""Tables in LaTeX. They need \usepackage{booktabs,makecell,graphicx}."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gmpool.report.comparison import Comparison
from gmpool.report.grid import MARKS, Column, Square, columns, notes
from gmpool.report.summary import Summary
from gmpool.report.tables import HEADINGS, cells, footnote

_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "–": r"\textendash{}",
    **{raised: rf"\textsuperscript{{{letter}}}" for letter, raised in MARKS.items()},
}
PACKAGES = r"% \usepackage{booktabs,makecell,graphicx}"


def escape(text: str) -> str:
    """Any text as LaTeX that prints it."""
    signs = "".join(_SIGNS.get(sign, sign) for sign in text)
    return re.sub("-(?=-)", "-{}", signs)  # two hyphens would print as a dash


def latex(comparison: Comparison) -> str:
    """One table as wide as the page; the paper's number is below ours."""
    underlined = "underlined: likewise after Holm's correction for the tests on a set"
    tested = any(s.tested for s in comparison.scores.values())
    said = [*notes(comparison), *([underlined] if tested else [])]
    return latex_grid(comparison.plan.title, columns(comparison), said)


def latex_grid(title: str, grid: Sequence[Column], said: Sequence[str]) -> str:
    """said: notes in the caption."""
    rows = [
        " & ".join(map(_square, squares)) + r" \\"
        for squares in zip(*(column.squares for column in grid), strict=True)
    ]
    return _whole(
        title,
        "l" + "r" * (len(grid) - 1),
        " & ".join(map(_heading, grid)) + r" \\",
        rows,
        said,
    )


def latex_summaries(summaries: Sequence[Summary]) -> str:
    """The table of a run store."""
    rows = [" & ".join(escape(c) for c in cells(s)) + r" \\" for s in summaries]
    head = " & ".join(map(escape, HEADINGS)) + r" \\"
    note = footnote(summaries)
    return _whole(
        "Recorded runs", "lll" + "r" * (len(HEADINGS) - 3), head, rows, [note] if note else []
    )


def _whole(title: str, alignment: str, head: str, rows: Sequence[str], said: Sequence[str]) -> str:
    caption = escape(". ".join([title, *(note[:1].upper() + note[1:] for note in said)]))
    return "\n".join(
        [
            PACKAGES,
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{caption}.}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
            "",
        ]
    )


def _heading(column: Column) -> str:
    if not column.small:
        return escape(column.heading)
    return rf"\makecell[r]{{{escape(column.heading)}\\{escape(column.small)}}}"


def _square(square: Square) -> str:
    text = escape(square.text)
    if square.best_corrected:
        text = rf"\underline{{{text}}}"
    if square.best:
        text = rf"\textbf{{{text}}}"
    text += "".join(rf"\textsuperscript{{{letter}}}" for letter in square.marks)
    if not square.small:
        return text
    small = escape(square.small).replace(", -", ", $-$")
    return rf"\makecell[r]{{{text}\\{{\scriptsize {small}}}}}"
