"""The templates of a set of reactions, their centers and fragments: what a model chooses from."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from gmpool.errors import DataError
from gmpool.tasks.retrosynthesis.chemistry import center_of, pattern_text

UNKNOWN = ""
"""The class of a reaction that has none."""


@dataclass(frozen=True)
class TemplateLibrary:
    """Templates, those seen most often first, and what they are made of.

    templates: SMARTS from product to reactants.
    counts: how often each was seen, by class.
    centers: the distinct product sides, without numbers of atoms.
    center_of: of each template the number of its center.
    fragments: the distinct reactants' sides, without numbers of atoms.
    fragments_of: of each template the numbers of its fragments, with repeats.
    """

    templates: tuple[str, ...]
    counts: tuple[Mapping[str, int], ...]
    centers: tuple[str, ...]
    center_of: tuple[int, ...]
    fragments: tuple[str, ...]
    fragments_of: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, seen: Iterable[tuple[str, str]]) -> TemplateLibrary:
        """seen: (class, template) of each reaction that is learned from."""
        by_template: dict[str, Counter[str]] = {}
        for group, template in seen:
            by_template.setdefault(template, Counter())[group] += 1
        if not by_template:
            raise DataError("no reaction to take templates from: the training part is empty")
        templates = sorted(by_template, key=lambda t: (-by_template[t].total(), t))
        centers = [center_of(template) for template in templates]
        sides = [
            [pattern_text(side) for side in template.split(">>")[1].split(".")]
            for template in templates
        ]
        center_at = {center: at for at, center in enumerate(sorted(set(centers)))}
        fragment_at = {f: at for at, f in enumerate(sorted({f for each in sides for f in each}))}
        return cls(
            tuple(templates),
            tuple(dict(sorted(by_template[template].items())) for template in templates),
            tuple(center_at),
            tuple(center_at[center] for center in centers),
            tuple(fragment_at),
            tuple(tuple(fragment_at[side] for side in each) for each in sides),
        )

    @cached_property
    def templates_of(self) -> Sequence[Sequence[int]]:
        """Of each center the numbers of its templates."""
        found: list[list[int]] = [[] for _ in self.centers]
        for template, center in enumerate(self.center_of):
            found[center].append(template)
        return found

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The classes that were seen, in order: numbers as numbers."""
        return tuple(in_order({group for counts in self.counts for group in counts}))

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> TemplateLibrary:
        """From a file that anybody may have written."""
        try:
            made = cls(
                tuple(map(str, values["templates"])),
                tuple({str(g): int(n) for g, n in each.items()} for each in values["counts"]),
                tuple(map(str, values["centers"])),
                tuple(map(int, values["center_of"])),
                tuple(map(str, values["fragments"])),
                tuple(tuple(map(int, each)) for each in values["fragments_of"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"the list of templates cannot be read ({error!r})") from error
        made._check()
        return made

    def _check(self) -> None:
        count = len(self.templates)
        numbers = [(c, len(self.centers)) for c in self.center_of]
        numbers += [(f, len(self.fragments)) for each in self.fragments_of for f in each]
        lengths = {len(self.counts), len(self.center_of), len(self.fragments_of)}
        if lengths != {count} or any(not 0 <= number < most for number, most in numbers):
            raise DataError("the list of templates does not fit together")


def in_order(groups: Iterable[str]) -> list[str]:
    """Names of classes: numbers as numbers, before words."""
    return sorted(groups, key=lambda g: (not g.isdecimal(), int(g) if g.isdecimal() else 0, g))
