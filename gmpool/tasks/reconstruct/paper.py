"""The paper's errors of synthetic graphs rebuilt at ratio 0.25, to stand beside ours."""

ERRORS = ("error_x", "error_a")
# line -> set -> objective -> (error of X, error of A)
PUBLISHED: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "diffpool": {
        "grid": {"x": (0.0833, 12110194), "a": (0.3908, 0.0856)},
        "ring": {"x": (0.0032, 617.7706), "a": (0.6208, 0.0948)},
    },
    "mincut": {
        "grid": {"x": (0.0001, 0.0092), "a": (1.2883, 0.0051)},
        "ring": {"x": (0.0005, 0.0424), "a": (0.5026, 0.0128)},
    },
    "mincut (normalise=False)": {
        "grid": {"x": (0.0002, 201.7619), "a": (2.0261, 0.0616)},
        "ring": {"x": (0.0003, 68.23), "a": (0.5211, 0.0725)},
    },
    "gmt": {
        "grid": {"x": (0.0001, 0.0102), "a": (0.2353, 0.0084)},
        "ring": {"x": (0.0, 0.0331), "a": (0.5475, 0.0324)},
    },
}


def published_error(dataset: str, line: str, objective: str, error: str) -> float | None:
    """None where the paper has none.

    line: a method, with its options where the paper has a line for them, as in
    "mincut (normalise=False)"; objective: "x" or "a"; error: "error_x" or "error_a".
    """
    errors = PUBLISHED.get(line, {}).get(dataset)
    return None if errors is None else errors[objective][ERRORS.index(error)]
