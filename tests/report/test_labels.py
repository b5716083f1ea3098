from __future__ import annotations

from report_rows import row, settings

from gmpool.report.labels import differing, label, settings_of


def test_settings_have_one_name_each() -> None:
    given = row(config=settings(pool={"conv": "gin"}, conv="gcn"))
    assert settings_of(given) == {"hidden_dim": 8, "conv": "gcn", "pool.conv": "gin", "lr": 0.1}
    bare = row(config={"model": {"method": "gmt"}, "train": {}})
    assert settings_of(bare) == {}, "a row may be too old to have a pool"


def test_what_differs_within_a_group() -> None:
    lines = [
        ("a", {"lr": 0.1, "blocks": ["x"], "epochs": 3}),
        ("a", {"lr": 0.2, "blocks": ["x"], "epochs": 3, "new": None}),
        ("a", {"lr": 0.1, "blocks": ["x", "y"], "epochs": 3}),
        ("b", {"lr": 7}),
    ]
    assert differing(lines) == {"a": {"lr", "blocks"}, "b": set()}


def test_a_setting_that_only_one_has_differs() -> None:
    assert differing([(0, {}), (0, {"layers": 2})]) == {0: {"layers"}}


def test_label() -> None:
    mine = {"pool.num_heads": 2, "lr": 0.1, "data": "abc"}
    assert label("GMT", mine, ()) == "GMT"
    assert label("GMT", mine, {"lr", "pool.num_heads", "other"}) == "GMT (lr=0.1, num_heads=2)"
