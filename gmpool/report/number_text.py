"""Numbers as a reader wants them."""

NONE = "–"
"""Stands where there is no number."""


def pair(mean: float | None, std: float | None) -> str:
    if mean is None:
        return NONE
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def duration(seconds: float) -> str:
    """12.3 s, 4 min 05 s, 2 h 07 min."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
