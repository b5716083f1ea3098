from __future__ import annotations

import pytest

from gmpool.data import CATALOGUE
from gmpool.report.paper import paper_name, published


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


def test_gmt_has_a_number_for_every_set_we_know() -> None:
    assert all(published(name, "gmt") for name in CATALOGUE)


def test_what_the_paper_does_not_have_is_none() -> None:
    assert published("mine", "gmt") is None
    assert published("MUTAG", "mine") is None


def test_names() -> None:
    assert (paper_name("gmt"), paper_name("mean"), paper_name("mine")) == ("GMT", "GCN", "mine")
