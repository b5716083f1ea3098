"""Scores of runs that were recorded where RDKit is not installed.

Rows keep the molecules that were drawn, so that they can be scored later, where it is. The scores
are recorded beside the rows, in generated-scores.jsonl, and are made once.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gmpool.data import CATALOGUE
from gmpool.errors import DataError, UserError
from gmpool.journal import Journal
from gmpool.record import Row
from gmpool.tasks.generate.alphabet import Alphabet
from gmpool.tasks.generate.data import SmallMolecules
from gmpool.tasks.generate.packed_draws import unpack_draws
from gmpool.tasks.generate.watch import SHOWN, said_of, scoring_of

FILE = "generated-scores.jsonl"
"""Not that of other tasks, whose rows may be in the same store."""
MOST_DRAWS = 10_000_000
"""As many as settings allow."""
_log = logging.getLogger(__name__)


def with_scores(
    rows: Sequence[Row], folder: Path, opened: Callable[[str], SmallMolecules]
) -> list[Row]:
    """The rows of a store, with the scores of what was drawn where they have or can get them."""
    beside = Journal(folder / FILE)
    known = {e["key"]: e["said"] for _, e in beside if isinstance(e.get("said"), dict)}
    lacking = [row for row in rows if "drawn" in row.more and row.key not in known]
    for name in dict.fromkeys(row.dataset for row in lacking if find_spec("rdkit")):
        molecules = _named(name, opened)
        for row in lacking if molecules else ():
            if molecules and row.data_digest == molecules.digest:
                known[row.key] = _scored(row, molecules)
                beside.append({"key": row.key, "said": known[row.key]})
    return [
        replace(row, more={**row.more, **known[row.key]})
        if "drawn" in row.more and row.key in known
        else row
        for row in rows
    ]


def _named(name: str, opened: Callable[[str], SmallMolecules]) -> SmallMolecules | None:
    """A set with a name; None, and a word on it, where its files are not there."""
    if name not in CATALOGUE:
        return None
    try:
        return opened(name)
    except UserError as error:
        _log.warning("%s is not at hand, so that runs on it are not scored: %s", name, error)
        return None


def _scored(row: Row, molecules: SmallMolecules) -> dict[str, Any]:
    drawn = row.more["drawn"]
    try:
        iterations, packed = list(drawn["iteration"]), list(drawn["packed"])
        alphabet = Alphabet.from_json(drawn["alphabet"])
        most = min(int(row.train["draws"]), MOST_DRAWS)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"what run {row.key} has drawn cannot be read: {error!r:.60}") from error
    if alphabet != molecules.alphabet or not packed or len(iterations) != len(packed):
        raise DataError(f"what run {row.key} has drawn is no molecules of {molecules.name}")
    scoring = scoring_of(molecules, workers=0)
    rows = [unpack_draws(text, alphabet, most) for text in packed]
    return said_of(molecules, iterations, [scoring.submit(each, SHOWN)() for each in rows])
