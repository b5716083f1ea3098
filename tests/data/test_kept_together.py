from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_sets import classes

from gmpool.data import Dataset
from gmpool.data.kept_together import Groups, groups_of, labels_of
from gmpool.data.molecule_groups import MoleculeGroups
from gmpool.errors import UserError


def test_groups_of_some_graphs_are_numbered_anew() -> None:
    groups = Groups(np.array([0, 1, 2, 1, 3]), "graphs")
    assert groups.sizes.tolist() == [1, 2, 1, 1]
    part = groups.among(np.array([1, 3, 4]))
    assert (part.of.tolist(), part.what) == ([0, 0, 1], "graphs")


def test_what_is_kept_together_is_a_matter_of_the_kind() -> None:
    pytest.importorskip("rdkit")
    plain = Dataset.of(classes(4))
    assert groups_of(plain, "random").of.tolist() == [0, 1, 2, 3]
    with pytest.raises(UserError, match="--split scaffold is for tables of molecules"):
        groups_of(plain, "scaffold")
    chemical = replace(plain, molecules=MoleculeGroups(["CCO", "C1CC1", "OCC", "CC1CC1"]))
    for kind in (None, "random", "stratified", "time", "column"):
        assert groups_of(chemical, kind).of.tolist() == [0, 1, 0, 2]
    assert groups_of(chemical, "scaffold").of.tolist() == [0, 1, 0, 1]


def test_labels_are_counted_by_group() -> None:
    graphs = replace(classes(5), y=torch.tensor([0, 1, 1, 0, 1]))
    groups = Groups(np.array([0, 0, 1, 1]), "graphs")
    made = labels_of(Dataset.of(graphs), groups, np.array([0, 1, 2, 4]), 0.1)
    assert made.tolist() == [[1, 1], [0, 2]]
