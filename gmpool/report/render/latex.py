r"""Grids in LaTeX. They need \usepackage{booktabs,makecell,graphicx}, and are plain ASCII."""

import re
import unicodedata
from collections.abc import Sequence

from gmpool.report.grid import MARKS, UNTITLED, Column, Grid, Square
from gmpool.report.render import About, form

PACKAGES = r"% \usepackage{booktabs,makecell,graphicx}"
_SIGNS = {
    "\\": r"\textbackslash{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}",
    "<": r"\textless{}", ">": r"\textgreater{}",
    "±": r"$\pm$", "×": r"$\times$", "−": "$-$", "·": r"$\cdot$", "∞": r"$\infty$",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "µ": r"$\mu$", "°": r"$^\circ$",
    "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\dots{}",
    "‘": "`", "’": "'", "“": "``", "”": "''", "\u00a0": "~", "ß": r"\ss{}",
    **{raised: rf"\textsuperscript{{{letter}}}" for letter, raised in MARKS.items()},
    **{raised: rf"\textsuperscript{{{digit}}}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}  # fmt: skip
# Those that the oldest encoding of fonts has.
_ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=",
            "\u0306": "u", "\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H",
            "\u030c": "v", "\u0327": "c"}  # fmt: skip


def escape(text: str) -> str:
    """Any text as LaTeX that prints it."""
    signs = "".join(_SIGNS.get(sign) or _sign(sign) for sign in text)
    return re.sub("-(?=-)", "-{}", signs)  # two hyphens would print as a dash


def _sign(sign: str) -> str:
    """A sign that pdflatex has no letter for is named by its number, so that nothing is lost and
    the table compiles."""
    if " " <= sign <= "~":
        return sign
    parts = unicodedata.normalize("NFD", sign)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return rf"\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return rf"\texttt{{U+{ord(sign):04X}}}"


@form("latex", suffix=".tex")
def latex(grids: Sequence[Grid], about: About) -> str:
    """A table as wide as the page for each; the paper's number is below ours."""
    return "\n".join(map(_grid, grids))


def _grid(grid: Grid) -> str:
    notes = [note[:1].upper() + note[1:] for note in (*grid.notes, grid.underlined) if note]
    caption = escape(". ".join([grid.title or UNTITLED, *notes]))
    alignment = "".join("l" if column.left else "r" for column in grid.columns)
    return "\n".join(
        [
            PACKAGES,
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{caption}.}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            " & ".join(map(_heading, grid.columns)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_square, squares)) + r" \\" for squares in grid.lines),
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
