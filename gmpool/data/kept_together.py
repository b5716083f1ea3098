"""Graphs that no split may cut apart, and the labels of such groups."""

from typing import NamedTuple

import numpy as np

from gmpool.data.dataset import Dataset
from gmpool.data.dealing import Ints
from gmpool.data.strata import strata_of
from gmpool.errors import UserError


class Groups(NamedTuple):
    """A group for each of some graphs."""

    of: Ints
    """[G]: 0 to M-1."""
    what: str
    """What a group is, in words."""

    @property
    def sizes(self) -> Ints:
        """[M]"""
        return np.bincount(self.of)

    def among(self, ids: Ints) -> "Groups":
        """Of these graphs alone, numbered anew."""
        return Groups(np.unique(self.of[ids], return_inverse=True)[1], self.what)


def groups_of(dataset: Dataset, kind: str | None) -> Groups:
    """What a split of a kind keeps together: scaffolds, else molecules; graphs that are no
    molecules are alone."""
    if dataset.molecules is None:
        if kind == "scaffold":
            raise UserError(
                f"--split scaffold is for tables of molecules, and {dataset.name} is none; take "
                "--split random or stratified"
            )
        return Groups(np.arange(len(dataset)), "graphs")
    if kind == "scaffold":
        return Groups(dataset.molecules.scaffolds.numpy(), "scaffolds")
    return Groups(dataset.molecules.molecules.numpy(), "different molecules")


def labels_of(dataset: Dataset, groups: Groups, ids: Ints, least_share: float) -> Ints:
    """[M, L]: how many graphs of each group have each label, for a stratified split.

    groups: of the graphs ``ids``. least_share: of the smallest part.
    """
    graphs = dataset.graphs
    if graphs.y is None or graphs.task is None:
        raise UserError(
            f"--split stratified spreads labels evenly, and {dataset.name} has none; name a label, "
            "or take --split random"
        )
    strata = strata_of(graphs.y.cpu()[ids], graphs.task, least_share)  # [G, L]
    made = np.zeros((len(groups.sizes), strata.shape[1]), np.int64)
    np.add.at(made, groups.of, strata)
    return made
