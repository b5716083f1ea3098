from __future__ import annotations

from report_rows import row

from gmpool.report.provenance import facts


def test_several_of_a_kind_are_all_named_once() -> None:
    rows = [row(), row(device="a GPU", commit=None), row(versions={"python": "3.12"})]
    assert dict(facts(rows)) == {
        "device": "a CPU; a GPU",
        "versions": "python 3.11, torch 2.9; python 3.12",
        "commit": "abc; not a checkout",
    }
