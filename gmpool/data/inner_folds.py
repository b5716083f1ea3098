"""Splits inside of a split: for the choice of settings, and for several models of one split."""

import torch

from gmpool.data.dataset import Dataset
from gmpool.data.dealing import deal
from gmpool.data.kept_together import groups_of, labels_of
from gmpool.data.splits import Split
from gmpool.errors import DataError


def inner_folds(dataset: Dataset, split: Split, k: int, seed: int = 0) -> tuple[Split, ...]:
    """k splits of what ``split`` does not test: each is validated on one part of it and trained on
    the others, and has the same test part.

    They are made as the dataset's splits were: scaffolds stay together where they did, labels are
    spread evenly where they were, else the parts are random; a molecule of a user's own data is
    never in two parts. Graphs of sets with a name count as different.
    """
    ids = torch.cat([split.train, split.valid]).sort().values
    kind = dataset.split_kind.get("kind")
    groups = groups_of(dataset, kind).among(ids.numpy())
    have = len(groups.sizes)
    if not 2 <= k <= have:
        raise DataError(
            f"{dataset.name}: cannot make {k} inner folds of {have:,} {groups.what}: k must be "
            f"from 2 to {have}"
        )
    labels = labels_of(dataset, groups, ids.numpy(), 1 / k) if kind == "stratified" else None
    targets = [len(ids) // k + (part < len(ids) % k) for part in range(k)]
    generator = torch.Generator().manual_seed(seed)
    part = torch.from_numpy(deal(groups.sizes, targets, generator, labels)[groups.of])
    return tuple(Split(ids[part != fold], ids[part == fold], split.test) for fold in range(k))
