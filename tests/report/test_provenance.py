from __future__ import annotations

from report_rows import row

from gmpool.report.provenance import facts, provenance_note


def test_several_of_a_kind_are_all_named_once() -> None:
    rows = [row(), row(device="a GPU", commit=None), row(versions={"python": "3.12"})]
    assert dict(facts(rows)) == {
        "device": "a CPU; a GPU",
        "versions": "python 3.11, torch 2.9; python 3.12",
        "commit": "abc; not a checkout",
    }


def test_rows_of_one_known_source_need_no_note() -> None:
    assert provenance_note([row(source="s"), row(source="s", commit="def")]) is None
    assert provenance_note([]) is None


def test_several_or_unknown_sources_are_said() -> None:
    silent = [row(), row(commit="def"), row(commit="def")]
    assert provenance_note(silent[:1]) == (
        "code: 1 run of 1 commit, of which 1 do not say their source"
    )
    assert provenance_note(silent) == (
        "code: 3 runs of 2 commits, of which 3 do not say their source"
    )
    known = [row(source="s"), row(source="t")]
    assert provenance_note(known) == "code: 2 runs of 1 commit and 2 versions of the source"
    assert provenance_note([row(source="s"), *silent]) == (
        "code: 4 runs of 2 commits, of which 3 do not say their source"
    )
