"""Which split is asked for, by the words of the command line, and what cannot be asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch

from gmpool.errors import UserError, unknown
from gmpool.options import check_type
from gmpool.plain_text import shortened

Kind = Literal["random", "stratified", "scaffold", "column", "time"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FOLDED: tuple[Kind, ...] = ("random", "stratified", "scaffold")
"""Of which folds can be made."""
FOLDED_WORDS = "--split random, stratified or scaffold"
Shares = tuple[float, float, float]
"""Percent for training, validation and test."""
SHARES: Shares = (80, 10, 10)
NO_SPLIT = "none"
"""Instead of a column's name: no column says what is trained on."""
_SEEDS_END = 2**63
_FEWEST_FOLDS = 3

OPTIONS = {
    "split": "--split",
    "folds": "--folds",
    "repeats": "--repeats",
    "split_seed": "--split-seed",
    "split_sizes": "--split-sizes",
}
"""Of sources whose graphs can be split, and the flags for them."""


@dataclass(frozen=True)
class SplitRequest:
    """What was asked for; None is what nobody said.

    folds of a kind are made; without a kind they are the first of those that the data have.
    """

    kind: Kind | None = None
    folds: int | None = None
    given_repeats: int | None = None
    given_seed: int | None = None
    given_shares: Shares | None = None

    @classmethod
    def of(
        cls,
        split: str | None = None,
        folds: int | None = None,
        repeats: int | None = None,
        split_seed: int | None = None,
        split_sizes: str | Sequence[float] | None = None,
        *,
        split_column: str | None = None,
        time_column: str | None = None,
    ) -> SplitRequest:
        """From the options of a source; raises UserError for what goes ill together."""
        if split is not None and split not in KINDS:
            raise unknown("kind of split", split, KINDS)
        for key, value in (("folds", folds), ("repeats", repeats), ("split_seed", split_seed)):
            check_type("int | None", key, value)
        if split_seed is not None and not 0 <= split_seed < _SEEDS_END:
            raise UserError(f"--split-seed lies in 0 … 2^63 - 1, got {split_seed}")
        for flag, count in (("--folds", folds), ("--repeats", repeats)):
            if count is not None and count < 1:
                raise UserError(f"{flag} must be at least 1, got {count}")
        shares = None if split_sizes is None else read_shares(split_sizes)
        kind = next((known for known in KINDS if known == split), None)
        asked = cls(kind, folds, repeats, split_seed, shares)
        asked._check_columns(split_column, time_column)
        asked._check()
        return asked

    @property
    def is_made(self) -> bool:
        """Whether the kind is one that is made of the graphs."""
        return self.kind is not None and self.kind != "column"

    @property
    def makes_folds(self) -> bool:
        return self.is_made and self.folds is not None

    @property
    def is_fixed(self) -> bool:
        """Whether nothing random is in it."""
        return self.kind == "time" or (self.kind == "scaffold" and self.folds is None)

    @property
    def repeats(self) -> int:
        return self.given_repeats or 1

    @property
    def seed(self) -> int:
        return self.given_seed or 0

    @property
    def shares(self) -> Shares:
        return self.given_shares or SHARES

    @property
    def fractions(self) -> Shares:
        """The shares as parts of one."""
        train, valid, test = self.shares
        return train / 100, valid / 100, test / 100

    def generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed)

    def as_random(self) -> SplitRequest:
        """The same where no kind was asked for and the data say nothing either."""
        made = replace(self, kind="random")
        made._check()
        return made

    def require_nothing_made(self, theirs: str) -> None:
        """Raises where something of a split that is made was asked for, and there is one already.

        theirs: what the data have, in words.
        """
        given = {
            "--repeats": self.given_repeats,
            "--split-seed": self.given_seed,
            "--split-sizes": self.given_shares,
        }
        for flag, value in given.items():
            if value is not None:
                raise UserError(
                    f"{flag} is for a split that is made, and {theirs}; leave it out, or add "
                    f"{FOLDED_WORDS}"
                )

    def _check_columns(self, split_column: str | None, time_column: str | None) -> None:
        column = split_column is not None and split_column.lower() != NO_SPLIT
        if column and self.is_made:
            raise UserError(
                f"--split-column {split_column} is for --split column, got --split {self.kind}; "
                "leave one of them out"
            )
        if split_column is not None and not column and self.kind == "column":
            raise UserError(
                f"--split column needs a column, got --split-column {split_column}; name one, or "
                "leave --split-column out to have it found"
            )
        if time_column is None and self.kind == "time":
            raise UserError("--split time needs the column with the times: add --time-column NAME")
        if time_column is not None and self.kind != "time":
            raise UserError(
                f"--time-column {time_column} is for --split time; add that, or leave "
                "--time-column out"
            )

    def _check(self) -> None:
        """What no data could make good."""
        if self.given_repeats is not None and self.folds is None:
            raise UserError(
                "--repeats does folds again with other shuffles, and there are none; add --folds, "
                "such as --folds 5"
            )
        if self.kind == "column":
            self.require_nothing_made("--split column takes what the column says")
        if self.kind == "time" and self.folds is not None:
            raise UserError(
                "--split time is one split, whose latest rows are tested; leave --folds out, or "
                f"take {FOLDED_WORDS}"
            )
        if self.makes_folds and self.given_shares is not None:
            raise UserError(
                f"--split-sizes is for one split, and of {self.folds} folds each is tested once; "
                "leave --split-sizes or --folds out"
            )
        if self.makes_folds and (self.folds or 0) < _FEWEST_FOLDS:
            raise UserError(
                f"--folds must be at least {_FEWEST_FOLDS}, for one is tested, one is for "
                f"validation and others are trained on, got {self.folds}; one split is made "
                "without --folds"
            )
        if self.is_fixed and self.given_seed is not None:
            ways = " (its folds are not: add --folds)" if self.kind == "scaffold" else ""
            raise UserError(f"--split {self.kind} is always the same{ways}; leave --split-seed out")


def read_shares(given: str | Sequence[float]) -> Shares:
    """Percent for training, validation and test, from "70,15,15" or three numbers; shares that sum
    to 1 are taken too."""
    try:
        words = given.split(",") if isinstance(given, str) else list(given)
        train, valid, test = (float(word) for word in words)
    except (TypeError, ValueError) as error:
        raise _no_shares(given) from error
    total = train + valid + test
    if not math.isfinite(total) or min(valid, test) < 0 or train <= 0:
        raise _no_shares(given)
    if abs(total - 1) < 1e-6:
        train, valid, test = (round(100 * share, 6) for share in (train, valid, test))
    elif abs(total - 100) > 1e-6:
        raise _no_shares(given)
    return _plain(train), _plain(valid), _plain(test)


def _plain(share: float) -> float:
    """80 rather than 80.0."""
    return int(share) if share == int(share) else share


def _no_shares(given: object) -> UserError:
    return UserError(
        "--split-sizes takes the shares of train, valid and test in percent, such as 70,15,15, "
        f"got {shortened(repr(given))}"
    )
