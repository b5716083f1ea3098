"""What is said of rows at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from gmpool.cli.console import say
from gmpool.tasks.predictions import PredictedRow, Value

SHOWN = 5


@dataclass
class Counts:
    """How many rows came, and what was wrong with some."""

    rows: int = 0
    bad: int = 0
    changed: int = 0
    """Cells that got an apostrophe."""
    first: list[str] = field(default_factory=list)
    """Of what was wrong."""

    @classmethod
    def again(cls, known: Mapping[str, Any]) -> Self:
        """As `to_json` gave it, or empty."""
        return cls(**{**known, "first": list(known.get("first", ()))})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def to_write(self, rows: Sequence[PredictedRow], *, leaves_out: bool) -> list[list[Value]]:
        """The cells of those that are to be written; all are counted."""
        for row in rows:
            if row.problem is not None:
                self.bad += 1
                if len(self.first) < SHOWN:
                    self.first.append(f"{row.place}: {row.problem}")
        self.rows += len(rows)
        return [row.cells for row in rows if row.problem is None or not leaves_out]

    def say(self, what: str, output: object, *, leaves_out: bool) -> None:
        """what: such as predictions; output: where they are, or None."""
        left_out = "left out" if leaves_out else f"without a {what}"
        for reason in self.first:
            say(f"{left_out}: {reason}")
        if self.bad > SHOWN:
            say(f"… and {self.bad - SHOWN} more")
        if self.bad:
            say(f"{self.bad} of {self.rows} rows {left_out}")
        if self.changed:
            say(f"cells that begin like a formula and got an apostrophe: {self.changed}")
        if output is not None:
            say(f"{self.rows - self.bad} {what}s: {output}")
