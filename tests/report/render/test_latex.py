from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from comparison_cells import compared, empty, filled, like_the_paper
from report_rows import row

from gmpool.report.comparison_grid import comparison_grid
from gmpool.report.grid import Column, Grid, Square
from gmpool.report.render import render
from gmpool.report.render.latex import escape
from gmpool.report.summary import summarise, summary_grid

COMPARISON = comparison_grid(like_the_paper())
RUNS = summary_grid(summarise([row(dataset="my_set"), row(fold=2, method="mean")]))
WHOLE = render("latex", [COMPARISON])
SIGNS = "".join(map(chr, [*range(32, 127), *range(160, 0x180)])) + "−…“”‘’—ᶠʰⁱᵈ²α数\x1b"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("50 % of a_b & c", r"50 \% of a\_b \& c"),
        ("84 ± 1 × ᶠ", r"84 $\pm$ 1 $\times$ \textsuperscript{f}"),
        ("--format", "-{}-format"),
        ("\\{~^<|>$#", r"\textbackslash{}\{\textasciitilde{}\textasciicircum{}\textless{}"
                       r"\textbar{}\textgreater{}\$\#"),
        ("1 – 2", r"1 \textendash{} 2"),
        ("(A − B)² é ß ÿ", r"(A $-$ B)\textsuperscript{2} \'{e} \ss{} \"{y}"),
        ("数\n", r"\texttt{U+6570}\texttt{U+000A}"),
    ],
)  # fmt: skip
def test_escape(text: str, made: str) -> None:
    assert escape(text) == made


def test_a_row_per_line_with_equal_columns() -> None:
    body = WHOLE.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == 14
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {14}
    assert all(line.endswith(r" \\") for line in body)
    assert WHOLE.count("{") == WHOLE.count("}")
    for command in (r"\toprule", r"\caption{A small plan. Test: mean $\pm$", r"\begin{tabular}"):
        assert command in WHOLE


def test_bold_underlined_and_the_paper_below() -> None:
    assert re.search(r"\\textbf\{\\underline\{\d\d\.\d\d \$\\pm\$ ", WHOLE)
    assert re.search(r"\{\\underline\{\d\d\.\d\d \$\\pm\$ \d\.\d\d\}\\textsuperscript\{h\}", WHOLE)
    assert re.search(r"\\\\\{\\scriptsize 83\.44 \$\\pm\$ 1\.33, [+$]", WHOLE)


def test_names_are_escaped() -> None:
    (cell,) = empty(("a_b&c",), ("MUTAG",))
    found = comparison_grid(compared([cell], filled(cell, [80.0])))
    assert r"a\_b\&c & " in render("latex", [found])


def test_the_table_of_a_store() -> None:
    text = render("latex", [RUNS])
    assert r"\begin{tabular}{lllrrrrrrrr}" in text
    assert r"my\_set & gmt & accuracy \% & 80.00 & 75.00 &" in text
    assert text.count(r" \\") == 3


NAMED = Grid(SIGNS, [Column(SIGNS, [Square(SIGNS, SIGNS)], SIGNS, left=True)], [SIGNS], SIGNS)
ALL = render("latex", [COMPARISON, RUNS, NAMED])


def test_whatever_is_printed_is_ascii_which_every_latex_reads() -> None:
    assert re.fullmatch(r"[ -~\n]*", ALL)
    plain = re.sub(r"\\[\\{}]", "", ALL)
    assert plain.count("{") == plain.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_it_compiles(tmp_path: Path) -> None:
    head = r"\documentclass{article}\usepackage{booktabs,makecell,graphicx}\begin{document}"
    (tmp_path / "page.tex").write_text(f"{head}\n{ALL}\n\\end{{document}}", encoding="ascii")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
