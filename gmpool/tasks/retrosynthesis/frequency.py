"""Templates by how often they were seen: the floor that a model must beat."""

from __future__ import annotations

import numpy as np

from gmpool.tasks.retrosynthesis.data import Reactions
from gmpool.tasks.retrosynthesis.top_k import MERGED, PUBLISHED


def frequency_ranks(dataset: Reactions, ids: np.ndarray) -> dict[str, np.ndarray]:
    """The rank of the truth of each reaction when its templates are tried in the order of how often
    they were seen in training, with its class where that is given. 0: not found."""
    lists, library = dataset.lists, dataset.prepared.library
    group = dataset.prepared.arrays["reactions.group"]
    names = library.groups
    counts = np.array([sum(each.values()) for each in library.counts])
    by_group = np.array([[each.get(name, 0) for name in names] for each in library.counts])
    ptr, tptr = lists.pair_ptr.numpy(), lists.template_ptr.numpy()
    of_template, of_outcome = lists.pair_template.numpy(), lists.pair_outcome.numpy()
    templates, truth = lists.templates.numpy(), lists.truth.numpy()
    published, merged = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
    for row, reaction in enumerate(ids.tolist()):
        pairs = slice(ptr[reaction], ptr[reaction + 1])
        number = templates[tptr[reaction] + of_template[pairs]]
        seen = by_group[number, group[reaction]] if dataset.given else counts[number]
        outcomes = of_outcome[pairs][np.argsort(-seen, kind="stable")]
        places = np.flatnonzero(outcomes == truth[reaction])
        if len(places):
            published[row] = places[0] + 1
            merged[row] = len(np.unique(outcomes[: places[0]])) + 1
    return {PUBLISHED: published, MERGED: merged}
