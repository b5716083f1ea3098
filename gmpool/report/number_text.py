"""Numbers as a reader wants them."""

import math

NONE = "–"
"""Stands where there is no number."""


def pair(mean: float | None, std: float | None) -> str:
    if mean is None:
        return NONE
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def measured(mean: float | None, std: float | None) -> str:
    """In a unit that is not known, and so of any size: at least three digits that count."""
    if mean is None or not math.isfinite(mean):
        return NONE
    size = math.floor(math.log10(abs(mean))) if mean else 0
    if not -4 <= size <= 6:
        return f"{mean:.3g}" if std is None else f"{mean:.3g} ± {std:.2g}"
    digits = max(0, 2 - size)
    return f"{mean:.{digits}f}" if std is None else f"{mean:.{digits}f} ± {std:.{digits}f}"


def scored(metric: str, mean: float | None, std: float | None) -> str:
    """A score on users' own data: an error is in the unit of the label."""
    return (measured if metric in ("rmse", "mae") else pair)(mean, std)


def duration(seconds: float) -> str:
    """12.3 s, 4 min 05 s, 2 h 07 min."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
