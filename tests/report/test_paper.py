from __future__ import annotations

import pytest

from gmpool.data import CATALOGUE
from gmpool.report.paper import published, published_count, published_method


@pytest.mark.parametrize(
    ("dataset", "method", "mean", "std"),
    [
        ("MUTAG", "gmt", 83.44, 1.33),
        ("PROTEINS", "gmt", 75.09, 0.59),
        ("ogbg-molbbbp", "gmt", 68.31, 1.62),
        ("MUTAG", "mean", 69.50, 1.78),
    ],
)
def test_numbers_of_table_1(dataset: str, method: str, mean: float, std: float) -> None:
    found = published(dataset, method)
    assert found is not None
    assert (found.mean, found.std) == (mean, std)


def test_gmt_has_a_number_for_every_set_with_labels() -> None:
    assert all(published(name, "gmt") for name, entry in CATALOGUE.items() if entry.outputs)


def test_what_the_paper_does_not_have_is_none() -> None:
    assert published("mine", "gmt") is None
    assert published("MUTAG", "mine") is None


def test_published_counts_and_tables_without_deviation() -> None:
    assert published_count("gmt") == "10/10"
    assert published_count("edgepool") == "3/9"
    assert published_count("gmt", "valid") is None
    assert published("DD", "mean pooling", "ablation") == (72.05, None, None)
    assert published("ogbg-molhiv", "gin", "leaderboard") == (75.58, 1.4, None)


@pytest.mark.parametrize(
    ("label", "method", "part", "changed", "name"),
    [
        ("gmt", "gmt", "test", False, "gmt"),
        ("GCN", "anything", "test", True, "mean"),
        ("My own", "gmt", "test", False, "gmt"),
        ("My own", "gmt", "test", True, None),
        ("Without Self-Attention", "gmt", "ablation", True, "without self-attention"),
        ("gmt", "gmt", "ablation", False, "GMT"),
        ("mine", "mine", "valid", False, None),
    ],
)
def test_the_name_of_a_line(
    label: str, method: str, part: str, changed: bool, name: str | None
) -> None:
    assert published_method(label, method, part, changed=changed) == name
