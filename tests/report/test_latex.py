from __future__ import annotations

import re

import pytest
from plan_rows import like_the_paper, plan, recorded
from report_rows import row

from gmpool.engine.cell import Line
from gmpool.report.comparison import compare
from gmpool.report.latex import escape, latex, latex_summaries
from gmpool.report.summary import summarise

WHOLE = latex(compare(*like_the_paper()))


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("50 % of a_b & c", r"50 \% of a\_b \& c"),
        ("84 ± 1 × ᶠ", r"84 $\pm$ 1 $\times$ \textsuperscript{f}"),
        ("--format", "-{}-format"),
        ("\\{~^<|>$#", r"\textbackslash{}\{\textasciitilde{}\textasciicircum{}\textless{}"
                       r"\textbar{}\textgreater{}\$\#"),
        ("1 – 2", r"1 \textendash{} 2"),
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
    table = plan((Line("a_b&c", "gmt", {}),), ("MUTAG",))
    assert r"a\_b\&c & " in latex(compare(table, recorded(*table.cells(), [80.0])))


def test_the_table_of_a_store() -> None:
    text = latex_summaries(summarise([row(dataset="my_set"), row(fold=2, method="mean")]))
    assert r"my\_set & gmt & accuracy \% & 80.00 & 75.00 &" in text
    assert text.count(r" \\") == 3
