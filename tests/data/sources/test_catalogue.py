from __future__ import annotations

import json
from pathlib import Path

import pytest

from gmpool.data import CATALOGUE, card, dataset_names
from gmpool.errors import UserError

RESULTS = Path(__file__).parents[3] / "results"


def test_every_set_is_known_by_its_digests() -> None:
    assert len(dataset_names()) == 12
    for name, entry in CATALOGUE.items():
        known = card(name)
        assert known is not None
        assert all(len(digest) == 64 for digest in entry.files.values())
        splits = 10 if entry.kind == "tu" else 1
        assert len(known.split_digests) == len(set(known.split_digests)) == splits
        assert all(len(digest) == 64 for digest in (known.digest, *known.split_digests))
        assert (known.name, known.graphs, known.nodes) == (name, entry.graphs, entry.nodes)
    with pytest.raises(UserError, match="did you mean 'MUTAG'"):
        card("MUTAGG")


def test_mean_nodes_are_those_of_the_papers() -> None:
    assert CATALOGUE["DD"].mean_nodes == 284.32
    assert CATALOGUE["ogbg-molhiv"].mean_nodes == 25.51
    assert set(dataset_names("molecules", "atoms")) | set(dataset_names("tu")) == set(CATALOGUE)


@pytest.mark.parametrize("results", ["table1", "zinc"])
def test_recorded_rows_are_of_the_sets_on_their_cards(results: str) -> None:
    cards = {name: card(name) for name in CATALOGUE}
    found = 0
    for line in (RESULTS / results / "rows.jsonl").read_text().splitlines():
        row = json.loads(line)
        known = cards[row["dataset"]]
        assert known is not None
        assert row["data_digest"] == known.digest
        assert row["split_digest"] == known.split_digests[row["fold"] - 1]
        found += 1
    assert found > 10
